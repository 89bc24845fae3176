/** Script of the verifier, which page/build makes of `verify/worker.ts`. */
declare module "worker-text" {
  const text: string;
  export default text;
}

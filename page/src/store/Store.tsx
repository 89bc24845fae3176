import { Frame } from "../parts/Frame.tsx";
export function Store() {
  return <Frame head={<h1>Store</h1>} keys={[]}><main /></Frame>;
}

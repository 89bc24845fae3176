declare module "pngjs" {
  interface Options {
    colorType?: 2 | 6;
    deflateLevel?: number;
    deflateStrategy?: number;
    filterType?: number;
  }

  export class PNG {
    static sync: {
      read(bytes: Uint8Array): PNG;
      write(png: PNG, options?: Options): Buffer;
    };
    constructor(size: { width: number; height: number });
    width: number;
    height: number;
    data: Buffer;
  }
}

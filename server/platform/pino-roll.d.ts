declare module "pino-roll" {
  import type { DestinationStream } from "pino";

  interface RollOptions {
    readonly file: string;
    readonly extension: string;
    readonly size: string;
    readonly limit: { readonly count: number };
    readonly mkdir: boolean;
    readonly sync: boolean;
    readonly maxLength: number;
  }
  interface RollStream extends DestinationStream {
    once(event: "ready", listener: () => void): this;
    once(event: "error", listener: (error: Error) => void): this;
    on(event: "error", listener: (error: Error) => void): this;
  }
  export default function build(options: RollOptions): Promise<RollStream>;
}

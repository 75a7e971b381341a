declare module "pino-roll" {
  import type { DestinationStream } from "pino";

  interface RollOptions {
    readonly file: string;
    readonly extension: string;
    readonly size: string;
    readonly limit: { readonly count: number };
    readonly mkdir: boolean;
    readonly sync: boolean;
  }
  export default function build(options: RollOptions): Promise<DestinationStream>;
}

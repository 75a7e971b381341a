import type { Readable } from "node:stream";

/** Passes whole lines on with `[name]` before them; the last one also without its line end. */
export function prefixOutput(stream: Readable, name: string, write: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) write(`[${name}] ${line}`);
  });
  stream.on("end", () => {
    if (rest) write(`[${name}] ${rest}`);
  });
}

import { writeFileSync } from "node:fs";
import { playClasses, playRefusals, playRequests, playRuns } from "./play.ts";

/** Records anew what a real ComfyUI 0.8.0 says: `node testing/comfyui/compared/record.ts http://127.0.0.1:8188`. */
async function main(url: string): Promise<void> {
  const facts = {
    classes: await playClasses(url),
    requests: await playRequests(url),
    refusals: await playRefusals(url),
    runs: await playRuns(url),
  };
  const file = new URL("../fixtures/compared-0.8.0.json", import.meta.url);
  writeFileSync(file, `${JSON.stringify(facts, null, 1)}\n`);
}

await main(process.argv[2] ?? "http://127.0.0.1:8188");

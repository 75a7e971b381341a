import { run } from "./supervisor/run.ts";

await run("start");

import { enter } from "./supervisor/enter.ts";

await enter("worker", ...process.argv.slice(2));

import { parseFlags, usage } from "@atelier/worker/args";
import { run } from "./supervisor/run.ts";

const { flags, problem } = parseFlags(process.argv.slice(2));
if (!flags) {
  console.error(problem);
  process.exitCode = 1;
} else if (flags.wantsHelp) {
  console.log(usage);
} else {
  await run("worker", flags);
}

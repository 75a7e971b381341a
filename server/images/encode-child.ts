import { buffer } from "node:stream/consumers";
import { type ChildUsage, encodeFiles, type EncodeTask, packError, packFiles } from "./encode.ts";

// The entry of a child process that makes the files of one picture: its bytes at stdin, the answer at stdout.

const reportMs = 50;

/** The parent compares these figures with its limits. Decoding runs in threads, so the timer is on time. */
function report(): void {
  const { user, system } = process.cpuUsage();
  const usage: ChildUsage = { cpuMs: (user + system) / 1_000, rssBytes: process.memoryUsage.rss() };
  process.send?.(usage);
}

/** The parent is gone; an ordinary exit would wait for the threads that decode. */
const endAtOnce = () => process.kill(process.pid, "SIGKILL");

async function answer(task: EncodeTask): Promise<void> {
  const parts = await encodeFiles(await buffer(process.stdin), task).then(packFiles, packError);
  for (const part of parts) process.stdout.write(part);
  clearInterval(reports);
  report();
  process.off("disconnect", endAtOnce);
  process.disconnect();
}

process.once("disconnect", endAtOnce);
const reports = setInterval(report, reportMs).unref();
void answer(JSON.parse(process.argv[2] ?? "") as EncodeTask);

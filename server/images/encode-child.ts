import { buffer } from "node:stream/consumers";
import { encodeFiles, type EncodeTask, type ImageFiles } from "./encode.ts";
import { type ChildUsage, packError, packFiles } from "./encode-wire.ts";
import { tiffOfHeic } from "./heic.ts";

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

async function encode(task: EncodeTask): Promise<ImageFiles> {
  const bytes = await buffer(process.stdin);
  if (task.as === "output" || task.format !== "heic") return encodeFiles(bytes, task);
  return encodeFiles(await tiffOfHeic(bytes), { ...task, format: "tiff", isLossless: false });
}

async function answer(task: EncodeTask): Promise<void> {
  const parts = await encode(task).then(packFiles, packError);
  for (const part of parts) process.stdout.write(part);
  clearInterval(reports);
  report();
  process.off("disconnect", endAtOnce);
  process.disconnect();
}

process.once("disconnect", endAtOnce);
const reports = setInterval(report, reportMs).unref();
void answer(JSON.parse(process.argv[2] ?? "") as EncodeTask);

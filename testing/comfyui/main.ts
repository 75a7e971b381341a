import { parseArgs } from "node:util";
import type { ComfyDevice, ComfyMode } from "./options.ts";
import { startComfySimulator } from "./start-comfy-simulator.ts";

const gib = 1024 ** 3;

const usage = `SIMULATOR of ComfyUI. It draws coloured grounds, not pictures of your words.
  --port 8188       port on 127.0.0.1
  --step-ms 50      time of one sampler step
  --mode 0.8.0      0.8.0 or new
  --device cuda     cuda or cpu
  --vram-gib 24     memory of the card
  --models all      all, none, or folder=file,file;folder=file
  --previews auto   auto or none
  --directory DIR   where files stay; a temporary folder by default
POST /sim/fault, /sim/release, /sim/models and GET /sim/stats, /sim/prompts drive it.
`;

const options = {
  port: { type: "string", default: "8188" },
  "step-ms": { type: "string", default: "50" },
  mode: { type: "string", default: "0.8.0" },
  device: { type: "string", default: "cuda" },
  "vram-gib": { type: "string", default: "24" },
  models: { type: "string", default: "all" },
  previews: { type: "string", default: "auto" },
  directory: { type: "string" },
  help: { type: "boolean", default: false },
} as const;

/** The simulator as a process of its own; SIGTERM ends it. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options });
  if (values.help) return void process.stdout.write(usage);
  const device: ComfyDevice = {
    type: values.device === "cpu" ? "cpu" : "cuda",
    vramTotalBytes: Number(values["vram-gib"]) * gib,
  };
  const mode: ComfyMode = values.mode === "new" ? "new" : "0.8.0";
  const simulator = await startComfySimulator({
    port: Number(values.port),
    stepMs: Number(values["step-ms"]),
    mode,
    device,
    models: readModels(values.models),
    previews: values.previews === "none" ? "none" : "auto",
    directory: values.directory,
  });
  process.stdout.write(`SIMULATOR of ComfyUI listens on ${simulator.url}\n`);
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => void simulator.close().then(() => process.exit(0)));
  }
}

function readModels(text: string): Record<string, string[]> | undefined {
  if (text === "all") return undefined;
  if (text === "none") return {};
  const folders = text.split(";").map((part) => part.split("="));
  return Object.fromEntries(folders.map(([folder = "", files = ""]) => [folder, files.split(",")]));
}

await main();

import { openPort } from "../comfyui/server/listen.ts";
import { createIopaintFaults, type IopaintFault } from "./faults.ts";
import { eraseModels, type Iopaint, type IopaintOptions, type IopaintStats, pluginFacts } from "./options.ts";
import { serveIopaint } from "./serve.ts";

/** A simulated IOPaint server. */
export interface IopaintSimulator {
  readonly url: string;
  readonly port: number;
  inject(fault: IopaintFault): void;
  clearFaults(): void;
  stats(): IopaintStats;
  /** Ends as SIGKILL does; what was computed is lost. */
  kill(): Promise<void>;
  /** Listens again on the same port. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a SIMULATOR of IOPaint 1.6 on 127.0.0.1. */
export async function startIopaintSimulator(options: IopaintOptions = {}): Promise<IopaintSimulator> {
  const iopaint = createIopaint(options);
  const port = await openPort(options.port ?? 0, {
    request: (request, response) => serveIopaint(iopaint, request, response),
    upgrade: (_, stream) => void stream.destroy(),
  });
  const kill = async () => {
    iopaint.end.abort();
    await port.close();
    iopaint.end = new AbortController();
  };
  return {
    url: `http://127.0.0.1:${port.port}`,
    port: port.port,
    inject: (fault) => iopaint.faults.inject(fault),
    clearFaults: () => iopaint.faults.clear(),
    stats: () => structuredClone(iopaint.stats),
    kill,
    start: () => port.open(),
    close: kill,
  };
}

function createIopaint(options: IopaintOptions): Iopaint {
  const model = options.model ?? "lama";
  return {
    workMs: options.workMs ?? 0,
    models: options.models ?? [...new Set([model, ...eraseModels])],
    guard: options.guard ?? null,
    plugins: options.plugins ?? Object.keys(pluginFacts),
    faults: createIopaintFaults(),
    stats: { inpaints: 0, plugins: {}, failures: 0, mostAtOnce: 0 },
    pluginModels: {},
    model,
    inside: 0,
    shared: new Map(),
    end: new AbortController(),
  };
}

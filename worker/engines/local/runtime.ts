import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import type { CV } from "@techstark/opencv-js";
import type * as WasmBackend from "@tensorflow/tfjs-backend-wasm";
import type * as Converter from "@tensorflow/tfjs-converter";
import type { GraphModel } from "@tensorflow/tfjs-converter";
import type * as Core from "@tensorflow/tfjs-core";
import type { InferenceSession } from "onnxruntime-node";

interface ModelFile {
  readonly modelTopology: Core.io.ModelJSON["modelTopology"];
  readonly format: string;
  readonly signature: Core.io.ModelJSON["signature"];
  readonly weightsManifest: readonly { paths: string[]; weights: Core.io.WeightsManifestEntry[] }[];
}

const require = createRequire(import.meta.url);

export function tensorCore(): typeof Core {
  return require("@tensorflow/tfjs-core") as typeof Core;
}

/** Loads a TensorFlow.js graph model from its JSON file onto the wasm backend. */
async function loadGraph(file: string): Promise<Converter.GraphModel> {
  const core = tensorCore();
  const { loadGraphModel } = require("@tensorflow/tfjs-converter") as typeof Converter;
  const wasm = require("@tensorflow/tfjs-backend-wasm") as typeof WasmBackend;
  const wasmDir = path.dirname(require.resolve("@tensorflow/tfjs-backend-wasm/package.json"));
  if (core.getBackend() !== "wasm") {
    wasm.setWasmPaths(`${path.join(wasmDir, "dist")}/`);
    await core.setBackend("wasm");
  }
  await core.ready();
  const artifacts = await readArtifacts(file);
  return loadGraphModel({ load: async () => artifacts });
}

async function readArtifacts(file: string): Promise<Core.io.ModelArtifacts> {
  const model = JSON.parse(await readFile(file, "utf8")) as ModelFile;
  const parts = model.weightsManifest.flatMap((group) => group.paths);
  const bytes = Buffer.concat(
    await Promise.all(parts.map((part) => readFile(path.join(path.dirname(file), part)))),
  );
  return {
    modelTopology: model.modelTopology,
    format: model.format,
    ...(model.signature && { signature: model.signature }),
    weightSpecs: model.weightsManifest.flatMap((group) => group.weights),
    weightData: Uint8Array.from(bytes).buffer,
  };
}

async function loadOnnx(file: string): Promise<InferenceSession> {
  const ort = await import("onnxruntime-node");
  return ort.InferenceSession.create(file, {
    // Without the arena memory stays flat over tiles of fixed size.
    enableCpuMemArena: false,
    enableMemPattern: false,
    executionMode: "sequential",
    // Its threads else wait for each other by spinning, which takes the time of whatever shares the cores.
    extra: { session: { intra_op: { allow_spinning: "0" } } },
    logSeverityLevel: 3,
  });
}

/** Wraps OpenCV: the module has a `then` of its own, so an async function must not return it directly. */
interface Vision {
  readonly cv: CV;
}

async function loadOpencv(): Promise<Vision> {
  // The package is a promise of the module or the module itself, not yet started.
  const loaded = require("@techstark/opencv-js") as
    | (CV & { onRuntimeInitialized?: () => void })
    | Promise<CV>;
  if (loaded instanceof Promise) return { cv: await loaded };
  if (!("Mat" in loaded)) {
    await new Promise<void>((resolve) => {
      (loaded as { onRuntimeInitialized?: () => void }).onRuntimeInitialized = resolve;
    });
  }
  return { cv: loaded };
}

/** The models of one child process, each loaded once, on first use. */
export interface Runtime {
  onnx(name: "medium-x2" | "slim-x2" | "u2netp"): Promise<InferenceSession>;
  graph(name: "movenet-thunder" | "selfie"): Promise<GraphModel>;
  vision(): Promise<Vision>;
}

export function createRuntime(modelsDir: string): Runtime {
  const loaded = new Map<string, Promise<unknown>>();
  function once<T>(key: string, load: () => Promise<T>): Promise<T> {
    const known = loaded.get(key);
    // Each key is stored with one type only, by the three callers below.
    if (known) return known as Promise<T>;
    const fresh = load();
    loaded.set(key, fresh);
    fresh.catch(() => loaded.delete(key));
    return fresh;
  }
  return {
    onnx: (name) => once(`onnx:${name}`, () => loadOnnx(path.join(modelsDir, `${name}.onnx`))),
    graph: (name) => once(`graph:${name}`, () => loadGraph(path.join(modelsDir, `${name}.json`))),
    vision: () => once("vision", loadOpencv),
  };
}

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import type * as WasmBackend from "@tensorflow/tfjs-backend-wasm";
import type * as Converter from "@tensorflow/tfjs-converter";
import type * as Core from "@tensorflow/tfjs-core";

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
export async function loadGraph(file: string): Promise<Converter.GraphModel> {
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

import path from "node:path";
import type { GraphModel } from "@tensorflow/tfjs-converter";
import type { InferenceSession } from "onnxruntime-node";
import { loadGraph } from "../runtime.ts";
import { loadOnnx } from "./load-onnx.ts";
import { loadOpencv, type Vision } from "./load-opencv.ts";

/** The models of one child process, each loaded once, on first use. */
export interface Runtime {
  onnx(name: "medium-x2" | "slim-x2"): Promise<InferenceSession>;
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

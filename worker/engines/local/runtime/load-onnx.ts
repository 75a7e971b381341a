import type { InferenceSession } from "onnxruntime-node";

export async function loadOnnx(file: string): Promise<InferenceSession> {
  const ort = await import("onnxruntime-node");
  return ort.InferenceSession.create(file, {
    // Without the arena memory stays flat over tiles of fixed size.
    enableCpuMemArena: false,
    enableMemPattern: false,
    executionMode: "sequential",
    logSeverityLevel: 3,
  });
}

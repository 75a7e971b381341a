import sharp from "sharp";
import { answerOrders } from "../models/answer-orders.ts";
import { sidePx, toModelInput } from "./model-input.ts";

// The entry of a child process that scores pictures, each the path of a file, with the model that it is given.

answerOrders(async (model) => {
  const ort = await import("onnxruntime-node");
  sharp.concurrency(1);
  const session = await ort.InferenceSession.create(model, {
    // One thread: engines have the other cores.
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    enableCpuMemArena: false,
    enableMemPattern: false,
    executionMode: "sequential",
    logSeverityLevel: 3,
  });
  const [input = ""] = session.inputNames;
  const [output = ""] = session.outputNames;
  return async (picture: string): Promise<number> => {
    const pixels = new ort.Tensor("float32", await toModelInput(picture), [1, sidePx, sidePx, 3]);
    const { [output]: scores } = await session.run({ [input]: pixels });
    // Safe, not pornographic.
    return Number(scores?.data[1]);
  };
});

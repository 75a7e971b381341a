import { z } from "zod";
import { AppError, type ErrorCode, foreignText } from "@atelier/server/platform";
import { exhaustedMemory } from "./exhausted-memory.ts";

const executionText = z.string().catch("");

/** What `execution_error` says, as event and in the history. Traceback and inputs hold paths and prompts of people. */
const schema = z.object({
  node_type: foreignText.catch(""),
  exception_type: executionText,
  exception_message: executionText,
  current_inputs: z.record(z.string(), z.unknown()).catch({}),
});

type Failure = z.infer<typeof schema>;

const causeChars = 500;

/** Our error for the data of an `execution_error`. Its details (node class, exception) are for admins, not for owners. */
export function executionFailure(data: unknown): AppError {
  const parsed = schema.safeParse(data);
  if (!parsed.success) return new AppError("engine_failed");
  const failure = parsed.data;
  const cause = causeOf(failure);
  const details = {
    ...(failure.node_type ? { nodeClass: failure.node_type } : {}),
    exception: foreignText.parse(cause.message),
  };
  return new AppError(codeOf(failure), undefined, { details, cause });
}

function codeOf({
  exception_type: type,
  exception_message: message,
  node_type: nodeClass,
}: Failure): ErrorCode {
  const memory = exhaustedMemory(type, message);
  if (memory) return memory === "gpu" ? "gpu_out_of_memory" : "out_of_memory";
  if (type === "ExecutionBlocked") return "engine_blocked";
  if (type !== "FileNotFoundError") return "engine_failed";
  return nodeClass.startsWith("LoadImage") ? "input_missing" : "model_missing";
}

/** What people wrote may stand in the message, so it is taken out. */
function causeOf({ exception_type, exception_message, current_inputs }: Failure): Error {
  const written = Object.values(current_inputs)
    .flat()
    .filter((value) => typeof value === "string");
  const message = written.reduce(
    (left, value) => (value.trim().length > 3 ? left.replaceAll(value, "[input]") : left),
    exception_message,
  );
  return new Error(`${exception_type}: ${message.slice(0, causeChars)}`);
}

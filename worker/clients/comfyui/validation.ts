import { z } from "zod";
import { AppError, foreignText } from "@atelier/server/platform";
import { withoutTexts } from "./failures.ts";

const validationText = foreignText.catch("");

const nodeError = z.object({
  type: validationText,
  message: validationText,
  details: validationText,
  extra_info: z
    .object({ input_name: validationText, received_value: foreignText.optional().catch(undefined) })
    .partial()
    .catch({}),
});

/** What cannot be read hides nothing else, and its node counts as refused all the same. */
const nodeErrors = z
  .record(
    foreignText,
    z
      .object({
        class_type: validationText,
        errors: z
          .array(nodeError.nullable().catch(null))
          .catch([])
          .transform((list) => list.filter((error) => error !== null)),
      })
      .catch({ class_type: "", errors: [] }),
  )
  .catch({});

/** The body for a refused prompt, and for one that was accepted in part. */
export const validationSchema = z.object({
  error: z
    .object({
      type: validationText,
      message: validationText,
      extra_info: z.object({ class_type: validationText }).catch({ class_type: "" }),
    })
    // Older servers, and extensions that look at a prompt first, send only a sentence.
    .or(foreignText.transform((text) => ({ type: "", message: text, extra_info: { class_type: "" } })))
    .nullish(),
  node_errors: nodeErrors,
});

type Validation = z.infer<typeof validationSchema>;

interface Fault {
  readonly node: string;
  readonly nodeClass: string;
  readonly type: string;
  readonly message: string;
  readonly input: string;
  readonly value: string | undefined;
  readonly details: string;
}

/** Our error for a refused prompt. Details hold no input values, except names of model files. */
export function validationFailure(validation: Validation, userTexts: readonly string[] = []): AppError {
  const classes = unknownClasses(validation);
  if (classes) return new AppError("node_missing", undefined, { details: { classes } });
  const faults = faultsOf(validation);
  const isSentence = validation.error?.type === "" && faults.length === 0;
  if (isSentence) return sentenceFailure(validation.error?.message ?? "", userTexts);
  const models = faults.filter(isMissingModel);
  if (models.length > 0) {
    const missing = models.map(({ nodeClass, input, value }) => ({ class: nodeClass, input, file: value }));
    return new AppError("model_missing", undefined, { details: { models: missing } });
  }
  if (faults.some(isMissingImage)) return new AppError("input_missing");
  const errors = faults.map(({ node, nodeClass, type, input }) => ({ node, class: nodeClass, type, input }));
  return new AppError("graph_invalid", firstFaultText(validation, faults[0]), {
    details: { type: validation.error?.type ?? "node_errors", errors },
  });
}

/** Of an extension or a gate, which may quote the prompt; another server may have none. */
function sentenceFailure(sentence: string, userTexts: readonly string[]): AppError {
  const exception = withoutTexts(sentence, userTexts);
  const message = exception && `The server refused the workflow: ${exception}`;
  return new AppError("engine_failed", message || undefined, { details: { exception } });
}

/** The server's own words for its first fault; they hold no value but numbers that are out of range. */
function firstFaultText({ error }: Validation, fault: Fault | undefined): string | undefined {
  if (fault?.message)
    return `The server refused the workflow: node ${fault.node} (${fault.nodeClass}) ${fault.input}: ${fault.message}`;
  return error?.message ? `The server refused the workflow: ${error.message}` : undefined;
}

/** Servers before 2026 name the class only in the message. */
const unknownClassText = /because node (.+) does not exist/;

function unknownClasses({ error }: Validation): string[] | null {
  if (error?.type === "missing_node_type")
    return error.extra_info.class_type ? [error.extra_info.class_type] : [];
  const named =
    error && ["invalid_prompt", ""].includes(error.type) ? unknownClassText.exec(error.message) : null;
  return named?.[1] ? [named[1]] : null;
}

function faultsOf({ node_errors }: Validation): Fault[] {
  return Object.entries(node_errors).flatMap(([node, { class_type: nodeClass, errors }]) =>
    errors.map(({ type, message, details, extra_info }) => ({
      node,
      nodeClass,
      type,
      message,
      input: extra_info.input_name ?? "",
      value: extra_info.received_value,
      details,
    })),
  );
}

const modelFile = /\.(safetensors|sft|ckpt|pth?|bin|gguf|onnx)$/i;

/** A wrong choice that is not a model file, such as a sampler, is a fault of the graph. */
function isMissingModel({ type, value }: Fault): boolean {
  return type === "value_not_in_list" && value !== undefined && modelFile.test(value);
}

function isMissingImage({ type, nodeClass, input, details }: Fault): boolean {
  if (!nodeClass.startsWith("LoadImage") || input !== "image") return false;
  return type === "value_not_in_list" || /invalid image file/i.test(details);
}

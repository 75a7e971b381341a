import { z } from "zod";
import { AppError, foreignText } from "@atelier/server/platform";

const validationText = foreignText.catch("");

const nodeError = z.object({
  type: validationText,
  details: validationText,
  extra_info: z
    .object({ input_name: validationText, received_value: foreignText.optional().catch(undefined) })
    .partial()
    .catch({}),
});

const nodeErrors = z
  .record(foreignText, z.object({ class_type: validationText, errors: z.array(nodeError).catch([]) }))
  .catch({});

/** The body of a refused prompt, and of one that was accepted in part. */
export const validationSchema = z.object({
  error: z
    .object({
      type: validationText,
      message: validationText,
      extra_info: z.object({ class_type: validationText }).catch({ class_type: "" }),
    })
    .optional(),
  node_errors: nodeErrors,
});

type Validation = z.infer<typeof validationSchema>;

interface Fault {
  readonly node: string;
  readonly nodeClass: string;
  readonly type: string;
  readonly input: string;
  readonly value: string | undefined;
  readonly details: string;
}

/** Our error for a prompt that the server did not take. Values of inputs are not told, save the names of model files. */
export function validationFailure(validation: Validation): AppError {
  const classes = unknownClasses(validation);
  if (classes) return new AppError("node_missing", undefined, { details: { classes } });
  const faults = faultsOf(validation);
  const models = faults.filter(isMissingModel);
  if (models.length > 0) {
    const missing = models.map(({ nodeClass, input, value }) => ({ class: nodeClass, input, file: value }));
    return new AppError("model_missing", undefined, { details: { models: missing } });
  }
  if (faults.some(isMissingImage)) return new AppError("input_missing");
  const told = faults.map(({ node, nodeClass, type, input }) => ({ node, class: nodeClass, type, input }));
  return new AppError("graph_invalid", undefined, {
    details: { type: validation.error?.type ?? "node_errors", errors: told },
  });
}

/** The text names the class only on servers before 2026. */
const unknownClassText = /because node (.+) does not exist/;

function unknownClasses({ error }: Validation): string[] | null {
  if (error?.type === "missing_node_type")
    return error.extra_info.class_type ? [error.extra_info.class_type] : [];
  const named = error?.type === "invalid_prompt" ? unknownClassText.exec(error.message) : null;
  return named?.[1] ? [named[1]] : null;
}

function faultsOf({ node_errors }: Validation): Fault[] {
  return Object.entries(node_errors).flatMap(([node, { class_type: nodeClass, errors }]) =>
    errors.map(({ type, details, extra_info }) => ({
      node,
      nodeClass,
      type,
      input: extra_info.input_name ?? "",
      value: extra_info.received_value,
      details,
    })),
  );
}

const modelFile = /\.(safetensors|sft|ckpt|pth?|bin|gguf|onnx)$/i;

/** A choice that is no file, such as a sampler, is a fault of the graph. */
function isMissingModel({ type, value }: Fault): boolean {
  return type === "value_not_in_list" && value !== undefined && modelFile.test(value);
}

function isMissingImage({ type, nodeClass, input, details }: Fault): boolean {
  if (!nodeClass.startsWith("LoadImage") || input !== "image") return false;
  return type === "value_not_in_list" || /invalid image file/i.test(details);
}

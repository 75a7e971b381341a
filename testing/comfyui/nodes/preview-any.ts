import type { NodeCall, NodeResult } from "./node-call.ts";

/** PreviewAny: shows what arrives as text. */
export function previewAny({ inputs }: NodeCall): NodeResult {
  const source = inputs.optional("source");
  if (!source) return { values: [], ui: { text: [inputs.text("source")] } };
  const text = source.kind === "number" ? String(source.value) : `tensor of ${source.kind}`;
  return { values: [], ui: { text: [text] } };
}

import { isLink } from "../graph/graph.ts";
import { pythonText } from "../graph/python-text.ts";
import type { JsonObject } from "../json.ts";
import type { NodeFailure } from "../nodes/node-error.ts";
import type { Run } from "./run.ts";

const traceback = [
  '  File "/opt/comfyui/execution.py", line 518, in execute\n    output_data, output_ui, has_subgraph, has_pending_tasks = await get_output_data(prompt_id, unique_id, obj)\n',
  '  File "/opt/comfyui/execution.py", line 291, in process_inputs\n    result = f(**inputs)\n             ^^^^^^^^^^^\n',
];

/** Classes that are given the whole prompt, so as to write it into the file. */
const savers: readonly string[] = ["SaveImage", "PreviewImage"];

function hiddenInputs({ item }: Run): JsonObject {
  return { prompt: [pythonText(item.graph)], extra_pnginfo: [item.extraData.extra_pnginfo ?? null] };
}

/** The rest of `execution_error`: what Python would tell, paths and prompt included. */
export function describeFailure(run: Run, nodeId: string, failure: NodeFailure): JsonObject {
  const inputs = Object.entries(run.item.graph[nodeId]?.inputs ?? {});
  return {
    // The real server ends every message so.
    exception_message: `${failure.message}\n`,
    exception_type: failure.exceptionType,
    traceback,
    current_inputs: {
      ...Object.fromEntries(
        inputs.map(([name, value]) => [name, [isLink(value) ? "tensor([[[[0.5]]]])" : value]]),
      ),
      ...(savers.includes(run.item.graph[nodeId]?.class_type ?? "") ? hiddenInputs(run) : {}),
    },
    current_outputs: run.order.toReversed(),
  };
}

import { type Family, type Sample, seconds } from "../monitoring/index.ts";
import type { AssistantFigures } from "./figures.ts";

/** Figures of questions and of calls of language models for `/metrics`. */
export const metricsOf = (figures: AssistantFigures): Family[] => [
  ...assistantFamilies(figures),
  ...modelFamilies(figures),
];

function assistantFamilies({ backlog, completed, failed, stages, withContext }: AssistantFigures): Family[] {
  const ended = Object.entries({ completed, failed });
  const timed = stages.flatMap(({ stage, p50Ms, p95Ms }): Sample[] => [
    { labels: { stage, quantile: "0.5" }, value: seconds(p50Ms) },
    { labels: { stage, quantile: "0.95" }, value: seconds(p95Ms) },
  ]);
  return [
    {
      name: "atelier_assistant_runs_open",
      help: "Questions without an answer yet.",
      samples: [{ labels: {}, value: backlog }],
    },
    {
      name: "atelier_assistant_runs_last_hour",
      help: "Questions that ended in the last hour.",
      samples: ended.map(([status, value]) => ({ labels: { status }, value })),
    },
    {
      name: "atelier_assistant_stage_seconds",
      unit: "seconds",
      help: "Time of a stage in the last hour.",
      samples: timed,
    },
    {
      name: "atelier_assistant_with_memory_ratio",
      unit: "ratio",
      help: "Part of the answers of the last hour for which something was remembered.",
      samples: [{ labels: {}, value: withContext }],
    },
  ];
}

function modelFamilies({ calls }: AssistantFigures): Family[] {
  type Call = AssistantFigures["calls"][number];
  const each = (values: (call: Call) => Readonly<Record<string, number>>, label: string): Sample[] =>
    calls.flatMap((call) =>
      Object.entries(values(call)).map(([name, value]) => ({
        labels: { stage: call.stage, model: call.model, ...(label === "" ? {} : { [label]: name }) },
        value,
      })),
    );
  return [
    {
      name: "atelier_model_calls_last_hour",
      help: "Calls of language models in the last hour.",
      samples: each(({ calls: all }) => ({ all }), ""),
    },
    {
      name: "atelier_model_call_troubles_last_hour",
      help: "Calls of the last hour that were repeats, met a rate limit or a time limit, or failed.",
      samples: each(
        ({ retries, rateLimited, timeouts, failures }) => ({
          retry: retries,
          rate_limit: rateLimited,
          timeout: timeouts,
          failure: failures,
        }),
        "trouble",
      ),
    },
    {
      name: "atelier_model_tokens_last_hour",
      help: "Tokens that went to language models and came from them in the last hour.",
      samples: each(({ inputTokens, outputTokens }) => ({ in: inputTokens, out: outputTokens }), "direction"),
    },
    {
      name: "atelier_model_spend_last_hour_usd",
      help: "US dollars spent on language models in the last hour.",
      samples: each(({ usd }) => ({ usd }), ""),
    },
  ];
}

"use client";
import { useFormatter, useTranslations } from "next-intl";
import type { AssistantFigures, StageFigures } from "@atelier/server/assistant";
import { api } from "../../client/api.ts";
import { useSayTime } from "../../jobs/text.ts";
import { useDollars } from "../../ui/hooks.ts";
import { Facts } from "../../ui/facts.tsx";
import { LiveData, useLiveQuery, useWindow } from "../live.tsx";
import { Panel, useAgo } from "../parts.tsx";
import { Cell, Row, Table } from "../table.tsx";

const refetchMs = 10_000;
/** Counting the descriptions reads all pictures of the studio and their jobs. */
const countMs = 60_000;

/** The model of each stage, or what it lacks. */
export function useModels() {
  return useLiveQuery(["assistant", "models"], () => api.admin.assistant.models.query(), refetchMs);
}

type Model = NonNullable<ReturnType<typeof useModels>["data"]>["items"][number];

/** A model, with what it does not know or read. */
function ModelFacts({ model, problem, hasPrice, note }: Model) {
  const t = useTranslations("admin.assistant");
  if (model === null) return problem;
  return (
    <>
      {hasPrice ? model : t("noPrice", { model })}
      {note && note.refused.length > 0 ? (
        <span className="block text-xs text-quiet">
          {t("refuses", { features: note.refused.join(", ") })}
        </span>
      ) : null}
      {note?.readTokens == null ? null : (
        <span className="block text-xs text-warn">
          {t("readsLess", { read: note.readTokens, sent: note.sentTokens ?? 0 })}
        </span>
      )}
    </>
  );
}

function Models() {
  const t = useTranslations("admin.assistant");
  const query = useModels();
  return (
    <Panel title={t("models")}>
      <LiveData query={query}>
        {({ items }) => (
          <Facts
            rows={items.map((item) => [t(`stages.${item.stage}`), <ModelFacts key={item.stage} {...item} />])}
          />
        )}
      </LiveData>
    </Panel>
  );
}

export function useMs(): (ms: number | null) => string {
  const say = useSayTime();
  const format = useFormatter();
  return (ms) => {
    if (ms === null) return "–";
    if (ms < 1_000) return `${format.number(ms, { maximumFractionDigits: 0 })} ms`;
    return say(ms / 1_000, "seconds", 1);
  };
}

function StageTimes({ stages }: { readonly stages: readonly StageFigures[] }) {
  const t = useTranslations("admin.assistant");
  const ms = useMs();
  const columns = [t("stage"), t("runs"), t("p50"), t("p95"), t("budget")];
  return (
    <Panel title={t("figures")}>
      <Table caption={t("figures")} columns={columns} numeric={[1, 2, 3, 4]}>
        {stages.map(({ stage, runs, p50Ms, p95Ms, budgetMs, isOverBudget }) => (
          <Row key={stage}>
            <Cell label={t("stage")} isHead>
              {t(`stages.${stage}`)}
            </Cell>
            <Cell label={t("runs")} isNumeric>
              {runs}
            </Cell>
            <Cell label={t("p50")} isNumeric>
              {ms(p50Ms)}
            </Cell>
            <Cell label={t("p95")} isNumeric>
              <span className={isOverBudget ? "font-medium text-warn" : undefined}>
                {ms(p95Ms)}
                {isOverBudget ? <span className="sr-only"> ({t("over")})</span> : null}
              </span>
            </Cell>
            <Cell label={t("budget")} isNumeric>
              {ms(budgetMs)}
            </Cell>
          </Row>
        ))}
      </Table>
    </Panel>
  );
}

function Calls({ calls }: { readonly calls: AssistantFigures["calls"] }) {
  const t = useTranslations("admin.assistant");
  const usd = useDollars();
  const format = useFormatter();
  const names = [
    "stage",
    "model",
    "count",
    "retries",
    "limited",
    "timeouts",
    "failures",
    "tokens",
    "cost",
  ] as const;
  return (
    <Panel title={t("calls")}>
      {calls.length === 0 ? (
        <p className="text-sm text-quiet">{t("noCalls")}</p>
      ) : (
        <Table caption={t("calls")} columns={names.map((name) => t(name))} numeric={[2, 3, 4, 5, 6, 7, 8]}>
          {calls.map((call) => (
            <Row key={`${call.stage} ${call.model}`}>
              <Cell label={t("stage")} isHead>
                {t(`stages.${call.stage as "analyzer"}`)}
              </Cell>
              <Cell label={t("model")}>{call.model}</Cell>
              {[call.calls, call.retries, call.rateLimited, call.timeouts, call.failures].map((value, at) => (
                <Cell key={names[at + 2]} label={t(names[at + 2] ?? "count")} isNumeric>
                  {value}
                </Cell>
              ))}
              <Cell label={t("tokens")} isNumeric>
                {format.number(call.inputTokens)}, {format.number(call.outputTokens)}
              </Cell>
              <Cell label={t("cost")} isNumeric>
                {usd(call.usd)}
              </Cell>
            </Row>
          ))}
        </Table>
      )}
    </Panel>
  );
}

function Totals({ figures }: { readonly figures: AssistantFigures }) {
  const t = useTranslations("admin.assistant");
  const format = useFormatter();
  const { backlog, completed, failed, perMinute, withContext, meanContextTokens, rows } = figures;
  return (
    <Panel title={t("totals")}>
      <Facts
        rows={[
          [t("backlog"), backlog],
          [t("completed"), completed],
          [t("failed"), failed],
          [t("perMinute"), format.number(perMinute, { maximumFractionDigits: 2 })],
          [t("withContext"), withContext === null ? "–" : format.number(withContext, { style: "percent" })],
          [
            t("context"),
            meanContextTokens === null ? "–" : format.number(meanContextTokens, { maximumFractionDigits: 0 }),
          ],
          [t("rows"), t("rowsValue", rows)],
        ]}
      />
    </Panel>
  );
}

/** How far the descriptions of pictures are, and what went wrong last. Nothing in a studio without a model for them. */
function Descriptions() {
  const t = useTranslations("admin.assistant.descriptions");
  const format = useFormatter();
  const ago = useAgo();
  const query = useLiveQuery(
    ["assistant", "descriptions"],
    () => api.admin.assistant.descriptions.query(),
    countMs,
  );
  if (query.data === null) return null;
  return (
    <Panel title={t("title")}>
      <LiveData query={query}>
        {(figures) => {
          if (figures === null) return null;
          const { described, waiting, givenUp, failure } = figures;
          return (
            <>
              <Facts
                rows={[
                  [t("described"), format.number(described)],
                  [t("waiting"), format.number(waiting - givenUp)],
                  [t("givenUp"), format.number(givenUp)],
                ]}
              />
              {failure === null ? null : (
                <p
                  className={`mt-3 text-sm break-words ${failure.failures > 0 ? "text-fail" : "text-quiet"}`}
                >
                  {t("failure", { ago: ago(failure.failedAgeMs), reason: failure.reason })}
                </p>
              )}
            </>
          );
        }}
      </LiveData>
    </Panel>
  );
}

/** How the assistant works: its models, its times beside their budgets, its calls. */
export function AssistantFiguresPanels() {
  const window = useWindow();
  const query = useLiveQuery(
    ["assistant", "figures", window],
    () => api.admin.assistant.figures.query({ window }),
    refetchMs,
  );
  return (
    <LiveData query={query}>
      {(figures) => (
        <div className="grid gap-10 wide:grid-cols-2">
          <div className="flex min-w-0 flex-col gap-10">
            <Models />
            <StageTimes stages={figures.stages} />
          </div>
          <div className="flex min-w-0 flex-col gap-10">
            <Totals figures={figures} />
            <Descriptions />
          </div>
          <div className="min-w-0 wide:col-span-2">
            <Calls calls={figures.calls} />
          </div>
        </div>
      )}
    </LiveData>
  );
}

"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { CircleAlert, CircleCheck, CircleMinus, type LucideIcon, TriangleAlert } from "lucide-react";
import { useTranslations } from "next-intl";
import type { Checkup } from "@atelier/server/db";
import { api } from "../client/api.ts";
import { failureOf, useFailureText } from "../ui/failures.ts";
import { Button, cx, Spinner } from "../ui/button.tsx";
import { useLiveQuery } from "./live.tsx";
import { Loading, Panel, useAgo } from "./parts.tsx";

type Finding = Checkup["findings"][number];

const looks: Record<Finding["state"], readonly [LucideIcon, string]> = {
  ok: [CircleCheck, "text-ok"],
  warn: [TriangleAlert, "text-warn"],
  fail: [CircleAlert, "text-fail"],
  "not tried": [CircleMinus, "text-quiet"],
};

function Findings({ findings }: { readonly findings: readonly Finding[] }) {
  const t = useTranslations("admin.checkup.states");
  return (
    <ul className="divide-y divide-line border-y border-line">
      {findings.map(({ name, state, message }) => {
        const [Icon, colour] = looks[state];
        return (
          <li key={`${name} ${message}`} className="flex items-baseline gap-2.5 py-2 text-sm">
            <Icon aria-label={t(state)} className={cx("size-4 shrink-0 translate-y-0.5", colour)} />
            <span className="grid min-w-0 flex-1 gap-x-6 md:grid-cols-[minmax(0,1fr)_minmax(0,2fr)]">
              <span className="break-words">{name}</span>
              <span className="text-xs break-words text-quiet md:pt-0.5">{message}</span>
            </span>
          </li>
        );
      })}
    </ul>
  );
}

const countOf = (findings: readonly Finding[], state: Finding["state"]) =>
  findings.filter((finding) => finding.state === state).length;

/** What needs a look first; the rest is folded. */
function Result({ findings }: Pick<Checkup, "findings">) {
  const t = useTranslations("admin.checkup");
  const first = [
    ...findings.filter(({ state }) => state === "fail"),
    ...findings.filter(({ state }) => state === "warn"),
  ];
  const rest = findings.filter(({ state }) => state === "ok" || state === "not tried");
  const counts = {
    ok: countOf(findings, "ok"),
    warn: countOf(findings, "warn"),
    fail: countOf(findings, "fail"),
    untried: countOf(findings, "not tried"),
  };
  return (
    <div className="flex flex-col gap-3">
      <p className="tabular text-xs text-quiet">{t("counts", counts)}</p>
      {first.length === 0 ? null : <Findings findings={first} />}
      {rest.length === 0 ? null : (
        <details>
          <summary className="cursor-pointer py-1 text-xs text-quiet hover:text-ink">
            {t("rest", { count: rest.length })}
          </summary>
          <div className="mt-2">
            <Findings findings={rest} />
          </div>
        </details>
      )}
    </div>
  );
}

const refetchMs = 5_000;

function useCheckup() {
  const textOf = useFailureText();
  const query = useLiveQuery(["checkup"], () => api.admin.checkup.read.query(), refetchMs);
  const queries = useQueryClient();
  // Its failure stays beside the button, so no notice tells it a second time.
  const action = useMutation({
    mutationFn: () => api.admin.checkup.run.mutate(),
    onSettled: () => queries.invalidateQueries({ queryKey: ["admin", "checkup"] }),
  });
  const { data } = query;
  const error = action.error ?? (data === undefined ? query.error : null);
  return {
    data,
    isRunning: action.isPending || data?.isRunning === true,
    reason: error === null ? null : textOf(failureOf(error)).title,
    run: () => action.mutate(),
  };
}

function Status({ data, isRunning, reason }: Omit<ReturnType<typeof useCheckup>, "run">) {
  const t = useTranslations("admin.checkup");
  if (isRunning) return <>{t("wait")}</>;
  if (reason !== null) return <span className="text-fail">{t("failed", { reason })}</span>;
  return data?.last === null ? <>{t("empty")}</> : null;
}

/** What the last check of all connections found, with its age, and the button that makes another one. */
export function Connections() {
  const t = useTranslations("admin.checkup");
  const ago = useAgo();
  const { run, ...checkup } = useCheckup();
  const { data, isRunning, reason } = checkup;
  const last = data?.last;
  return (
    <Panel title={t("title")} aside={last ? t("checked", { ago: ago(data?.ageMs ?? null) }) : undefined}>
      <div aria-busy={isRunning} className="flex flex-col gap-3">
        {data === undefined && reason === null ? <Loading /> : null}
        <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
          <Button size="small" disabled={isRunning} onClick={run}>
            {isRunning ? <Spinner /> : null}
            {isRunning ? t("running") : t("run")}
          </Button>
          <p role="status" className="min-w-0 text-xs text-quiet empty:hidden">
            <Status {...checkup} />
          </p>
        </div>
        {last ? (
          <div className={cx(isRunning && "opacity-60")}>
            <Result findings={last.findings} />
          </div>
        ) : null}
      </div>
    </Panel>
  );
}

"use client";
import { CircleCheck, CircleDashed } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import { api } from "../../client/api.ts";
import { Button } from "../../ui/button.tsx";
import { toastWithUndo } from "../../ui/toasts.tsx";
import { ConfirmButton, useAdminAction } from "../controls.tsx";
import { LiveData, useLiveQuery } from "../live.tsx";
import { StateChip } from "../parts.tsx";
import { Cell, Row, Table, wideOnlyCell } from "../table.tsx";

type WorkflowFacts = Awaited<ReturnType<typeof api.admin.workflows.list.query>>["items"][number];

/** What is missing first, in full for the pointer. */
function WorkflowState({ workflow: { isLive, missing } }: { readonly workflow: WorkflowFacts }) {
  const t = useTranslations("admin.workflows");
  const [first] = missing;
  return (
    <span className="flex flex-col items-start gap-1">
      <StateChip icon={isLive ? CircleCheck : CircleDashed} tone={isLive ? "ok" : "quiet"}>
        {isLive ? t("live") : t("notLive")}
      </StateChip>
      {first === undefined || isLive ? null : (
        <span className="max-w-[36ch] break-words text-quiet" title={missing.join("\n")}>
          {t("lacks", { what: first, others: missing.length - 1 })}
        </span>
      )}
    </span>
  );
}

/** Accepts the licence of a workflow for the studio, after the consequence was read; or takes that back. */
function LicenceAction({ licence }: { readonly licence: NonNullable<WorkflowFacts["licence"]> }) {
  const t = useTranslations("admin.workflows");
  const common = useTranslations("common");
  const { name, isAccepted } = licence;
  const send = (accepted: boolean) =>
    api.admin.workflows.decideLicence.mutate({ name, isAccepted: accepted });
  const undo = useAdminAction(send);
  const decide = useAdminAction(async (accepted: boolean) => {
    await send(accepted);
    // Told here: the row moves to the other table, which may be folded.
    toastWithUndo({
      title: t(accepted ? "accepted" : "withdrawn", { name }),
      undoLabel: common("undo"),
      onUndo: () => undo.mutate(!accepted),
    });
  });
  if (isAccepted === null) return null;
  if (isAccepted)
    return (
      <Button
        size="small"
        aria-label={t("withdrawNamed", { name })}
        disabled={decide.isPending}
        onClick={() => decide.mutate(false)}
      >
        {t("withdraw")}
      </Button>
    );
  return (
    <ConfirmButton
      label={t("acceptNamed", { name })}
      question={t("acceptQuestion")}
      confirm={t("acceptConfirm")}
      isPending={decide.isPending}
      onConfirm={() => decide.mutate(true)}
    >
      {t("accept")}
    </ConfirmButton>
  );
}

function WorkflowRow({ workflow }: { readonly workflow: WorkflowFacts }) {
  const t = useTranslations("admin.workflows");
  const kinds = useTranslations("jobs.kinds");
  const format = useFormatter();
  const { title, kind, licence, sizeGb, vramGib } = workflow;
  return (
    <Row>
      <Cell label={t("workflow")} isHead>
        <span className="block font-medium">{title}</span>
        <span className="block text-quiet">{kinds(kind)}</span>
      </Cell>
      <Cell label={t("state")}>
        <WorkflowState workflow={workflow} />
      </Cell>
      <Cell label={t("licence")}>
        {licence?.name ?? "–"}
        {licence?.isCommercial === false ? (
          <span className="block text-warn">{t("notCommercial")}</span>
        ) : null}
      </Cell>
      <Cell label={t("size")} isNumeric>
        {sizeGb === null ? "–" : t("sizeValue", { size: format.number(sizeGb) })}
      </Cell>
      <Cell label={t("vram")} isNumeric className={wideOnlyCell}>
        {vramGib === 0 ? "–" : t("vramValue", { size: format.number(vramGib) })}
      </Cell>
      <Cell label="" className="md:text-end">
        {licence === null ? null : <LicenceAction licence={licence} />}
      </Cell>
    </Row>
  );
}

const isWaiting = ({ licence }: WorkflowFacts) => licence?.isAccepted === false;

function WorkflowTable({
  caption,
  workflows,
}: {
  readonly caption: string;
  readonly workflows: readonly WorkflowFacts[];
}) {
  const t = useTranslations("admin.workflows");
  return (
    <Table
      caption={caption}
      columns={[t("workflow"), t("state"), t("licence"), t("size"), t("vram"), t("actions")]}
      unnamed={5}
      numeric={[3, 4]}
      wideOnly={[4]}
    >
      {workflows.map((workflow) => (
        <WorkflowRow key={workflow.name} workflow={workflow} />
      ))}
    </Table>
  );
}

/** What waits for an admin, and all others folded. */
function Workflows({ workflows }: { readonly workflows: readonly WorkflowFacts[] }) {
  const t = useTranslations("admin.workflows");
  const waiting = workflows.filter(isWaiting);
  const others = workflows.filter((workflow) => !isWaiting(workflow));
  const live = others.filter(({ isLive }) => isLive).length;
  return (
    <div className="flex flex-col gap-6">
      {waiting.length === 0 ? null : (
        <section aria-labelledby="waiting-licences">
          <h3 id="waiting-licences" className="mb-3 text-sm font-medium">
            {t("waiting", { count: waiting.length })}
          </h3>
          <WorkflowTable caption={t("waiting", { count: waiting.length })} workflows={waiting} />
        </section>
      )}
      {others.length === 0 ? null : (
        <details>
          <summary className="w-fit py-1 text-sm text-quiet hover:text-ink">
            {t("others", { count: others.length, waiting: waiting.length, live })}
          </summary>
          <div className="mt-3">
            <WorkflowTable caption={t("title")} workflows={others} />
          </div>
        </details>
      )}
    </div>
  );
}

const refetchMs = 10_000;

/** Every workflow for ComfyUI: whether it runs, what it takes, and whether the studio may use it. */
export function WorkflowList() {
  const t = useTranslations("admin.workflows");
  const query = useLiveQuery(["workflows"], () => api.admin.workflows.list.query(), refetchMs);
  return (
    <section aria-labelledby="workflows" className="mt-10">
      <h2 id="workflows" className="text-base font-medium">
        {t("title")}
      </h2>
      <p className="mt-1 mb-4 max-w-[68ch] text-xs text-quiet">{t("text")}</p>
      <LiveData query={query}>{({ items }) => <Workflows workflows={items} />}</LiveData>
    </section>
  );
}

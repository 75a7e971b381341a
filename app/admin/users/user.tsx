"use client";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import { useRouter } from "next/navigation";
import { type FormEvent, useState } from "react";
import type { UserFigures } from "@atelier/server/monitoring";
import { api } from "../../client/api.ts";
import { PageHeader } from "../../parts/page-parts.tsx";
import { Button, buttonStyle, cx } from "../../ui/button.tsx";
import { Facts } from "../../ui/facts.tsx";
import { Progress } from "../../ui/progress.tsx";
import { Field } from "../../ui/fields.tsx";
import { toastDone } from "../../ui/toasts.tsx";
import { useAdminAction } from "../controls.tsx";
import { LiveData, useLiveQuery } from "../live.tsx";
import { Panel, useAgo, useSize } from "../parts.tsx";
import { UserActs, useIsMe } from "./acts.tsx";
import { CapsPanel } from "./caps.tsx";
import { UserChips } from "./users.tsx";

interface Props {
  readonly user: UserFigures;
}

function UserFacts({ user }: Props) {
  const t = useTranslations("admin.users");
  const format = useFormatter();
  const ago = useAgo();
  return (
    <Panel title={t("facts")}>
      <Facts
        rows={[
          [t("role"), <UserChips key="chips" user={user} />],
          [t("email"), user.email ?? "–"],
          [t("joined"), format.dateTime(new Date(user.createdAt), { dateStyle: "medium" })],
          [t("seen"), user.seenMs === null ? t("never") : ago(user.seenMs)],
          [t("pictures"), format.number(user.images)],
          [t("open"), format.number(user.openJobs)],
          [
            t("jobs"),
            <Link key="jobs" href={`/admin/jobs?owner=${user.id}`} className="underline underline-offset-4">
              {format.number(user.jobs)}
              <span className="sr-only">{` · ${t("showJobs", { name: user.name })}`}</span>
            </Link>,
          ],
        ]}
      />
    </Panel>
  );
}

const bytesPerMb = 1_048_576;

function QuotaPanel({ user: { id, usedBytes, limitBytes, quotaBytes } }: Props) {
  const t = useTranslations("admin.users");
  const size = useSize();
  const [text, setText] = useState(quotaBytes === null ? "" : String(quotaBytes / bytesPerMb));
  const save = useAdminAction(async () => {
    const wanted = text.trim() === "" ? null : Math.round(Number(text) * bytesPerMb);
    await api.admin.users.setQuota.mutate({ id, quotaBytes: wanted });
    toastDone(t("quotaSaved"));
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  const used = t("used", { used: size(usedBytes), limit: size(limitBytes) });
  return (
    <Panel title={t("space")} aside={used}>
      <Progress value={Math.min(1, usedBytes / Math.max(1, limitBytes))} label={t("space")} />
      <form onSubmit={submit} className="mt-4 flex max-w-sm items-end gap-2">
        <div className="min-w-0 flex-1">
          <Field
            name="quota"
            label={t("quota")}
            hint={t("quotaHint")}
            type="number"
            min={0}
            step="any"
            value={text}
            onValueChange={setText}
          />
        </div>
        <Button type="submit" className="mb-6 h-10 pointer-coarse:h-11" disabled={save.isPending}>
          {t("saveQuota")}
        </Button>
      </form>
    </Panel>
  );
}

function DeletePanel({ user }: Props) {
  const t = useTranslations("admin.users");
  return (
    <Panel title={t("delete")}>
      {useIsMe(user) ? (
        <Link href="/settings" className="text-xs underline underline-offset-4">
          {t("deleteSelf")}
        </Link>
      ) : (
        <DeleteForm user={user} />
      )}
    </Panel>
  );
}

function DeleteForm({ user: { id, email, role } }: Props) {
  const t = useTranslations("admin.users");
  const router = useRouter();
  const wanted = role === "guest" ? t("deleteWord") : (email ?? "");
  const [typed, setTyped] = useState("");
  const remove = useAdminAction(async () => {
    const { isGone } = await api.admin.users.remove.mutate({ id, confirm: email ?? "delete" });
    toastDone(isGone ? t("deleted") : t("deleting"));
    router.push("/admin/users");
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    remove.mutate();
  };
  return (
    <form onSubmit={submit} className="flex max-w-sm flex-col items-start gap-3">
      <p className="text-xs text-quiet">{t("deleteText")}</p>
      <div className="w-full">
        <Field
          name="confirm"
          label={t("deleteType", { text: wanted })}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onValueChange={setTyped}
        />
      </div>
      <Button
        type="submit"
        look="danger"
        disabled={remove.isPending || typed.trim().toLowerCase() !== wanted.toLowerCase()}
      >
        {remove.isPending ? t("deleteBusy") : t("deleteYes")}
      </Button>
    </form>
  );
}

const column = "flex min-w-0 flex-col gap-8";

/** One user: what the studio knows, and what an admin may do. */
export function UserPage({ id }: { readonly id: string }) {
  const t = useTranslations("admin.users");
  const query = useLiveQuery(["users", "one", id], () => api.admin.users.get.query({ id }));
  const { data } = query;
  return (
    <>
      <PageHeader title={data === undefined || data.name === "" ? t("nameless") : data.name}>
        <Link href="/admin/users" className={buttonStyle("quiet", "small")}>
          {t("all")}
        </Link>
      </PageHeader>
      <div className="max-w-[1760px] px-4 pb-10 sm:px-6 wide:px-8">
        <LiveData query={query}>
          {(user) => (
            <div className="grid items-start gap-x-12 gap-y-8 md:grid-cols-2 xl:grid-cols-3 xl:gap-x-16">
              {user.state === "deleted" || user.role === "service" ? (
                <>
                  <UserFacts user={user} />
                  <p className="text-sm text-quiet">
                    {t(`fixed.${user.role === "service" ? "service" : "deleted"}`)}
                  </p>
                </>
              ) : (
                <>
                  <div className={column}>
                    <UserFacts user={user} />
                    <QuotaPanel key={String(user.quotaBytes)} user={user} />
                  </div>
                  <div className={cx(column, "xl:contents")}>
                    <UserActs user={user} />
                    <div className={column}>
                      {user.role === "guest" ? null : <CapsPanel userId={user.id} />}
                      <DeletePanel user={user} />
                    </div>
                  </div>
                </>
              )}
            </div>
          )}
        </LiveData>
      </div>
    </>
  );
}

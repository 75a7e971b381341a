"use client";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import type { AuditEntry, AuditGroup, AuditKind } from "@atelier/server/audit";
import { api } from "../../client/api.ts";
import { useFailureText } from "../../ui/failures.ts";
import { byCursor, retryLoad } from "../../client/queries.ts";
import { TextFilter, useSearchFilter } from "../../parts/filters.tsx";
import { LoadFailed } from "../../parts/page-parts.tsx";
import { Button, buttonStyle, cx, inputStyle } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/display.tsx";
import { SelectFilter } from "../controls.tsx";
import { Json } from "../../ui/json.tsx";
import { Loading } from "../parts.tsx";
import { Cell, Row, Table } from "../table.tsx";

/** By the type of the server: a group that is added there does not compile here until it is listed. */
const groups = Object.keys({
  sign_in: true,
  account: true,
  user: true,
  invitation: true,
  key: true,
  link: true,
  board: true,
  pictures: true,
  assistant: true,
  consent: true,
  gate: true,
  admin: true,
} satisfies Record<AuditGroup, true>) as AuditGroup[];

/** The start of a day of the viewer, or of the day after it, in UTC; undefined for what is no day. */
function startOf(day: string | null, daysLater: number): string | undefined {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day ?? "") ?? [];
  if (date === undefined) return undefined;
  return new Date(Number(year), Number(month) - 1, Number(date) + daysLater).toISOString();
}

/** The filters in the URL, as the server takes them. */
function useAuditFilter() {
  const { params } = useSearchFilter();
  return {
    person: params.get("person")?.trim() || undefined,
    kind: groups.find((group) => group === params.get("kind")),
    from: startOf(params.get("from"), 0),
    to: startOf(params.get("to"), 1),
  };
}

function DayFilter({ name, label }: { readonly name: "from" | "to"; readonly label: string }) {
  const { params, set } = useSearchFilter();
  return (
    <label className="flex min-w-0 flex-col gap-1 text-xs text-quiet">
      {label}
      <input
        type="date"
        value={params.get(name) ?? ""}
        onChange={(event) => set(name, event.target.value)}
        className={cx(inputStyle, "h-9! w-full text-sm text-ink")}
      />
    </label>
  );
}

function Filters() {
  const t = useTranslations("admin.audit");
  return (
    <div className="grid grid-cols-2 items-end gap-2 md:max-w-[860px] md:grid-cols-[2fr_1.4fr_1fr_1fr]">
      <TextFilter
        name="person"
        label={t("search")}
        placeholder={t("searchHint")}
        className="max-md:col-span-2"
        isSearch
      />
      <div className="max-md:col-span-2">
        <SelectFilter
          name="kind"
          label={t("group")}
          options={groups.map((value) => ({ value, label: t(`groups.${value}`) }))}
        />
      </div>
      <DayFilter name="from" label={t("from")} />
      <DayFilter name="to" label={t("to")} />
    </div>
  );
}

/** Links to the files of what is filtered; the browser saves them while they are made. */
function Exports({ filter }: { readonly filter: ReturnType<typeof useAuditFilter> }) {
  const t = useTranslations("admin.audit");
  const hrefOf = (format: "csv" | "jsonl") => {
    const query = new URLSearchParams({ format });
    for (const [name, value] of Object.entries(filter)) if (value !== undefined) query.set(name, value);
    return `/api/v1/audit/export?${query.toString()}`;
  };
  return (
    <div className="flex flex-wrap gap-2">
      {(["csv", "jsonl"] as const).map((format) => (
        <a key={format} href={hrefOf(format)} download className={buttonStyle("plain", "small")}>
          <Download className="size-4" aria-hidden />
          {t(format)}
        </a>
      ))}
    </div>
  );
}

/** One line; the columns are narrower where all must fit beside each other on a small screen. */
const oneLine = "block max-w-60 truncate md:max-xl:max-w-36";

function Person({ person }: { readonly person: NonNullable<AuditEntry["by"]> }) {
  const t = useTranslations("admin.audit");
  const shown = person.name || person.email;
  return (
    <>
      <Link
        href={`/admin/users/${person.id}`}
        className={cx(oneLine, "font-medium underline-offset-4 hover:underline")}
      >
        {shown ?? t("gone")}
      </Link>
      <span className={cx(oneLine, "text-quiet")} title={person.id}>
        {shown !== null && person.email !== null ? person.email : person.id}
      </span>
    </>
  );
}

function EntryRow({ entry }: { readonly entry: AuditEntry }) {
  const t = useTranslations("admin.audit");
  const format = useFormatter();
  const causeOf = useFailureText();
  const { by, person, objectId, actor, outcome, details } = entry;
  // Safe cast: a kind without a text does not compile; acts of admins are named by their procedures.
  const key = `kinds.${entry.kind as Exclude<AuditKind, `admin.${string}`>}` as const;
  return (
    <Row>
      <Cell label={t("what")} isHead>
        {t.has(key) ? <span className="block">{t(key)}</span> : null}
        <span className="block font-mono wrap-anywhere text-quiet md:min-w-32">{entry.kind}</span>
        {outcome === "ok" ? null : (
          <span className="text-fail" title={outcome}>
            {/* Safe cast: a code of another version has the text of `internal`. */}
            {t("refused", { code: causeOf({ code: outcome as "internal", message: "" }).title })}
          </span>
        )}
        {Object.keys(details).length === 0 ? null : (
          <details>
            <summary className="cursor-pointer text-quiet">{t("details")}</summary>
            <Json value={details} />
          </details>
        )}
      </Cell>
      <Cell label={t("time")} className="max-md:whitespace-nowrap xl:whitespace-nowrap">
        <time dateTime={entry.at}>
          {format.dateTime(new Date(entry.at), { dateStyle: "short", timeStyle: "medium" })}
        </time>
      </Cell>
      <Cell label={t("who")}>
        {by === null ? t(`actors.${actor}`) : <Person person={by} />}
        {actor === "key" ? <span className="block text-quiet">{t("actors.key")}</span> : null}
      </Cell>
      <Cell label={t("whom")}>
        {person === null ? null : <Person person={person} />}
        {objectId === null ? null : (
          <span className={cx(oneLine, "text-quiet")} title={objectId}>
            {objectId}
          </span>
        )}
        {person === null && objectId === null ? "–" : null}
      </Cell>
      <Cell label={t("address")} className="wrap-anywhere md:min-w-24">
        {entry.address ?? "–"}
      </Cell>
    </Row>
  );
}

/** The search of the audit log. It is not read again by itself: a page that is read must not move. */
export function AuditLog() {
  const t = useTranslations("admin.audit");
  const filter = useAuditFilter();
  const query = useInfiniteQuery({
    queryKey: ["admin", "audit", filter],
    queryFn: ({ pageParam }) => api.admin.audit.search.query({ ...filter, cursor: pageParam ?? undefined }),
    ...byCursor,
    placeholderData: keepPreviousData,
    staleTime: 0,
  });
  const items = query.data?.pages.flatMap((page) => page.items);
  return (
    <div className="flex flex-col gap-6">
      <Filters />
      <Exports filter={filter} />
      {query.error === null ? null : <LoadFailed error={query.error} onRetry={() => retryLoad(query)} />}
      {items === undefined && query.error === null ? <Loading /> : null}
      {items?.length === 0 ? <EmptyState title={t("none")} text={t("noneText")} /> : null}
      {items && items.length > 0 ? (
        <Table caption={t("list")} columns={[t("what"), t("time"), t("who"), t("whom"), t("address")]}>
          {items.map((entry) => (
            <EntryRow key={entry.id} entry={entry} />
          ))}
        </Table>
      ) : null}
      {query.hasNextPage ? (
        <Button className="self-start" disabled={query.isFetching} onClick={() => void query.fetchNextPage()}>
          {t("more")}
        </Button>
      ) : null}
    </div>
  );
}

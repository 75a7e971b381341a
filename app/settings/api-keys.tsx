"use client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useFormatter, useTranslations } from "next-intl";
import { type FormEvent, useState, useSyncExternalStore } from "react";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys, useMe } from "../client/queries.ts";
import { ShownOnce } from "../parts/shown-once.tsx";
import { Button } from "../ui/button.tsx";
import { Checkbox, Field } from "../ui/fields.tsx";
import { Confirmation } from "../ui/confirmation.tsx";
import { Select } from "../ui/select.tsx";
import { type ApiKey, CapFields, capOf, type CapText, KeySpend, noCap } from "./key-cap.tsx";
import { SettingsSection } from "./section.tsx";

interface RevokeDialogProps {
  readonly name: string;
  readonly isOpen: boolean;
  readonly onOpenChange: (isOpen: boolean) => void;
  readonly onConfirm: () => void;
}

/** Asks for confirmation, because a revoked key cannot be restored. */
function RevokeDialog({ name, isOpen, onOpenChange, onConfirm }: RevokeDialogProps) {
  const t = useTranslations("apiKeys");
  return (
    <Confirmation
      open={isOpen}
      onOpenChange={onOpenChange}
      title={t("revokeQuestion", { name })}
      keep={t("revokeCancel")}
      confirm={t("revokeConfirm")}
      onConfirm={onConfirm}
    >
      {t("revokeText")}
    </Confirmation>
  );
}

type Right = NonNullable<ApiKey["rights"]>[number];

/** What a key may and until when; an ended one is said in red. */
function KeyTerms({ apiKey: { rights, endsAt, hasEnded, perMinute } }: { readonly apiKey: ApiKey }) {
  const t = useTranslations("apiKeys");
  const format = useFormatter();
  const names = rights === null ? [t("allRights")] : rights.map((right) => t(`rights.${right}`));
  const day = endsAt === null ? null : format.dateTime(new Date(endsAt), { dateStyle: "medium" });
  return (
    <p className="text-xs text-quiet">
      {[...names, ...(perMinute === null ? [] : [t("rate", { count: perMinute })])].join(" · ")}
      {day === null ? null : (
        <span className={hasEnded ? "text-fail" : undefined}>
          {" · "}
          {t(hasEnded ? "ended" : "ends", { day })}
        </span>
      )}
    </p>
  );
}

function ApiKeyRow({ apiKey }: { readonly apiKey: ApiKey }) {
  const t = useTranslations("apiKeys");
  const format = useFormatter();
  const queries = useQueryClient();
  const onError = useFailureToast();
  const [isAsking, setAsking] = useState(false);
  const revoke = useMutation({
    mutationFn: () => api.apiKeys.revoke.mutate({ id: apiKey.id }),
    onSuccess: () => queries.invalidateQueries({ queryKey: keys.apiKeys }),
    onError,
  });
  const day = (iso: string) => format.dateTime(new Date(iso), { dateStyle: "medium" });
  return (
    <li className="flex items-center gap-4 py-2.5">
      <div className="min-w-0 flex-1">
        <p className="truncate text-sm font-medium">{apiKey.name}</p>
        <p className="tabular text-xs text-quiet">
          <code>{`${apiKey.start}…`}</code>
          {" · "}
          {t("made", { day: day(apiKey.createdAt) })}
          {" · "}
          {apiKey.lastUsedAt === null ? t("neverUsed") : t("used", { day: day(apiKey.lastUsedAt) })}
        </p>
        <KeyTerms apiKey={apiKey} />
        <KeySpend apiKey={apiKey} />
      </div>
      <Button
        size="small"
        look="danger"
        disabled={revoke.isPending}
        aria-label={t("revokeNamed", { name: apiKey.name })}
        onClick={() => setAsking(true)}
      >
        {t("revoke")}
      </Button>
      <RevokeDialog
        name={apiKey.name}
        isOpen={isAsking}
        onOpenChange={setAsking}
        onConfirm={() => {
          setAsking(false);
          revoke.mutate();
        }}
      />
    </li>
  );
}

interface RightsChoiceProps {
  readonly offered: readonly Right[];
  readonly rights: ReadonlySet<Right>;
  readonly onChange: (rights: ReadonlySet<Right>) => void;
}

function RightsChoice({ offered, rights, onChange }: RightsChoiceProps) {
  const t = useTranslations("apiKeys");
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1.5 text-xs font-medium">{t("mayDo")}</legend>
      {offered.map((right) => (
        <Checkbox
          key={right}
          checked={rights.has(right)}
          onChange={(isOn) =>
            onChange(new Set(offered.filter((one) => (one === right ? isOn : rights.has(one)))))
          }
        >
          <span className="text-ink">{t(`rights.${right}`)}</span> {t(`rightTexts.${right}`)}
        </Checkbox>
      ))}
    </fieldset>
  );
}

const userRights = ["read", "create", "spend"] as const;
const allRights = [...userRights, "admin", "metrics"] as const;

/** A limit of the server. */
const maxPerMinute = 100_000;

const lifetimes = ["never", "7", "30", "90", "365"] as const;

function CreateKeyForm({ onCreated }: { readonly onCreated: (key: string) => void }) {
  const t = useTranslations("apiKeys");
  const queries = useQueryClient();
  const onError = useFailureToast();
  const [name, setName] = useState("");
  const offered = useMe()?.isAdmin === true ? allRights : userRights;
  const [rights, setRights] = useState<ReadonlySet<Right>>(new Set(allRights));
  const [days, setDays] = useState<string>("never");
  const [perMinute, setPerMinute] = useState("");
  const [cap, setCap] = useState<CapText>(noCap);
  const isWhole = offered.every((right) => rights.has(right));
  const create = useMutation({
    mutationFn: () =>
      api.apiKeys.create.mutate({
        name: name.trim(),
        rights: isWhole ? null : [...rights],
        days: days === "never" ? null : Number(days),
        perMinute: perMinute.trim() === "" ? null : Number(perMinute),
        cap: capOf(cap),
      }),
    onSuccess: ({ key }) => {
      onCreated(key);
      setName("");
      setRights(new Set(allRights));
      setDays("never");
      setPerMinute("");
      setCap(noCap);
      return queries.invalidateQueries({ queryKey: keys.apiKeys });
    },
    onError,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <div className="grid gap-3 sm:grid-cols-[minmax(0,1fr)_180px]">
        <Field
          name="key-name"
          label={t("name")}
          placeholder={t("nameHint")}
          autoComplete="off"
          required
          maxLength={32}
          value={name}
          onValueChange={setName}
        />
        <Select
          label={t("lifetime")}
          value={days}
          onChange={setDays}
          options={lifetimes.map((value) => ({
            value,
            title: value === "never" ? t("endsNever") : t("endsAfter", { days: Number(value) }),
          }))}
        />
      </div>
      <div className="grid gap-3 sm:grid-cols-2">
        <CapFields cap={cap} onChange={setCap} />
        <Field
          name="key-rate"
          label={t("ownRate")}
          hint={t("ownRateHint")}
          type="number"
          inputMode="numeric"
          min={1}
          max={maxPerMinute}
          step={1}
          autoComplete="off"
          value={perMinute}
          onValueChange={setPerMinute}
        />
      </div>
      <RightsChoice offered={offered} rights={rights} onChange={setRights} />
      <Button
        type="submit"
        className="h-10 self-start pointer-coarse:h-11"
        disabled={create.isPending || name.trim() === "" || rights.size === 0}
      >
        {t("create")}
      </Button>
    </form>
  );
}

/** The faces of the studio that programs already speak (docs/programs.md). */
const addresses = [
  { name: "openai", path: "/v1" },
  { name: "sdapi", path: "" },
  { name: "mcp", path: "/mcp" },
] as const;

const neverChanges = () => () => undefined;

function ProgramAddresses() {
  const t = useTranslations("apiKeys");
  const origin = useSyncExternalStore(
    neverChanges,
    () => window.location.origin,
    () => "",
  );
  return (
    <div className="flex flex-col gap-3">
      <h3 className="text-sm font-medium">{t("addresses")}</h3>
      <p className="text-xs text-quiet">{t("addressesText")}</p>
      <dl className="flex flex-col gap-3">
        {addresses.map(({ name, path }) => (
          <div key={name} className="flex flex-col gap-1">
            <dt className="text-xs">{t(name)}</dt>
            <dd>
              <code className="block rounded-control border border-line bg-surface px-3 py-2 text-xs break-all select-all">
                {`${origin}${path}`}
              </code>
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

export function ApiKeysSection() {
  const t = useTranslations("apiKeys");
  const [newKey, setNewKey] = useState<string | null>(null);
  const { data } = useQuery({ queryKey: keys.apiKeys, queryFn: () => api.apiKeys.list.query() });
  return (
    <SettingsSection id="api-keys" title={t("title")} text={t("text")}>
      <div className="flex max-w-[640px] flex-col gap-5">
        <CreateKeyForm onCreated={setNewKey} />
        {newKey === null ? null : (
          <ShownOnce text={t("shownOnce")} value={newKey} onDone={() => setNewKey(null)} />
        )}
        {data === undefined || data.items.length === 0 ? null : (
          <ul aria-label={t("title")} className="divide-y divide-line border-y border-line">
            {data.items.map((key) => (
              <ApiKeyRow key={key.id} apiKey={key} />
            ))}
          </ul>
        )}
        <ProgramAddresses />
        <a
          href="/api/v1/docs"
          target="_blank"
          rel="noreferrer"
          className="touch self-start text-xs underline underline-offset-4"
        >
          {t("docs")}
        </a>
      </div>
    </SettingsSection>
  );
}

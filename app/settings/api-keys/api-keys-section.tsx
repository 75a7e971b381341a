"use client";
import { useQuery } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { api } from "../../client/api.ts";
import { keys } from "../../data/keys.ts";
import { SettingsSection } from "../section.tsx";
import { ApiKeyRow } from "../api-keys.tsx";
import { CreateKeyForm } from "./create-key-form.tsx";
import { NewKey } from "./new-key.tsx";

export function ApiKeysSection() {
  const t = useTranslations("apiKeys");
  const [newKey, setNewKey] = useState<string | null>(null);
  const { data } = useQuery({ queryKey: keys.apiKeys, queryFn: () => api.apiKeys.list.query() });
  return (
    <SettingsSection id="api-keys" title={t("title")} text={t("text")}>
      <div className="flex max-w-[640px] flex-col gap-5">
        <CreateKeyForm onCreated={setNewKey} />
        {newKey === null ? null : <NewKey value={newKey} onDone={() => setNewKey(null)} />}
        {data === undefined || data.items.length === 0 ? null : (
          <ul aria-label={t("title")} className="divide-y divide-line border-y border-line">
            {data.items.map((key) => (
              <ApiKeyRow key={key.id} apiKey={key} />
            ))}
          </ul>
        )}
        <a
          href="/api/v1/docs"
          target="_blank"
          rel="noreferrer"
          className="self-start text-xs underline underline-offset-4"
        >
          {t("docs")}
        </a>
      </div>
    </SettingsSection>
  );
}

"use client";
import { useTranslations } from "next-intl";
import { ShortcutTable } from "../frame/shortcuts/shortcut-table.tsx";
import { useMe, useMeFailure } from "../data/use-me.ts";
import { LoadFailed } from "../frame/load-failed.tsx";
import { AccountSection } from "./account/account-section.tsx";
import { GuestSection } from "./account/guest-section.tsx";
import { SpaceSection } from "./account/space-section.tsx";
import { ApiKeysSection } from "./api-keys/api-keys-section.tsx";
import { EnginesSection } from "./engines/engines-section.tsx";
import { SettingsSection } from "./section.tsx";
import { ThemeChoice } from "./theme-choice.tsx";

/** Stands where the account will be, for as long as it is not known who asks. */
function WhoIsIt() {
  const { error, retry } = useMeFailure();
  if (error !== null) return <LoadFailed error={error} onRetry={retry} />;
  return <div className="h-72" aria-busy />;
}

export function Settings() {
  const t = useTranslations("settings");
  const me = useMe();
  const isGuest = me === null || me?.isGuest === true;
  const account = me && !me.isGuest ? me : null;
  return (
    <div className="max-w-[960px] divide-y divide-line px-4 pb-10 sm:px-6 wide:px-8">
      {me === undefined ? <WhoIsIt /> : null}
      {isGuest ? <GuestSection /> : null}
      {account ? <AccountSection me={account} /> : null}
      {me ? <SpaceSection /> : null}
      <SettingsSection id="appearance" title={t("appearance")} text={t("appearanceText")}>
        <ThemeChoice />
      </SettingsSection>
      {account ? <ApiKeysSection /> : null}
      <EnginesSection />
      <SettingsSection id="shortcuts" title={t("shortcuts")} text={t("shortcutsText")}>
        <ShortcutTable />
      </SettingsSection>
    </div>
  );
}

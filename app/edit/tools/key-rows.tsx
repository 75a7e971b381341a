"use client";
import { useTranslations } from "next-intl";
import { type KeyboardEvent, useState } from "react";
import { Button, Kbd } from "../../ui/button.tsx";
import { type CommandId, commandIds, keyName, keysOf, withKey } from "./commands.ts";
import { ownKeys, useOwnKeys } from "./own-keys.ts";

interface KeyButtonProps {
  readonly id: CommandId;
  readonly isAwaited: boolean;
  readonly onAwait: (isAwaited: boolean) => void;
}

/** The keys of a command; a click lets the next key press be its key. */
function KeyButton({ id, isAwaited, onAwait }: KeyButtonProps) {
  const t = useTranslations("shortcuts");
  const own = useOwnKeys();
  const keys = keysOf(id, own);
  const press = (event: KeyboardEvent) => {
    if (!isAwaited || event.key === "Tab") return;
    // Neither the page nor the dialog around takes the key.
    event.preventDefault();
    event.stopPropagation();
    const key = keyName(event.nativeEvent);
    if (event.key === "Escape") onAwait(false);
    else if (key !== null) {
      ownKeys.set(withKey(own, id, key));
      onAwait(false);
    }
  };
  return (
    <button
      type="button"
      onClick={() => onAwait(!isAwaited)}
      onKeyDown={press}
      onBlur={() => onAwait(false)}
      className="flex min-h-7 flex-wrap items-center justify-end gap-1 rounded-control px-1.5 py-1 hover:bg-hover"
    >
      <span className="sr-only">
        {t("changeKey", { action: t(`edit.${id}`), keys: keys.join(", ") || t("noKey") })}
      </span>
      {isAwaited ? <span className="animate-breathe">{t("pressKey")}</span> : null}
      {isAwaited || keys.length > 0 ? null : (
        <span aria-hidden className="text-quiet">
          {t("noKey")}
        </span>
      )}
      {isAwaited ? null : keys.map((key) => <Kbd key={key} keys={key} />)}
    </button>
  );
}

/** The commands of the editor with their keys, which a user can change for this browser. */
export function EditKeyRows() {
  const t = useTranslations("shortcuts");
  const own = useOwnKeys();
  const [awaited, setAwaited] = useState<CommandId | null>(null);
  return (
    <>
      {commandIds.map((id) => (
        <div key={id} className="flex min-h-8 break-inside-avoid items-center justify-between gap-4 text-xs">
          <dt>{t(`edit.${id}`)}</dt>
          <dd className="-me-1.5">
            <KeyButton
              id={id}
              isAwaited={awaited === id}
              onAwait={(is) => setAwaited((before) => (is ? id : before === id ? null : before))}
            />
          </dd>
        </div>
      ))}
      {Object.keys(own).length === 0 ? null : (
        <Button look="quiet" size="small" className="-ms-2.5" onClick={() => ownKeys.set({})}>
          {t("resetKeys")}
        </Button>
      )}
    </>
  );
}

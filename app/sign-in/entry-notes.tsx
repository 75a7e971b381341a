import type { Entry } from "@atelier/server/accounts";
import { KeyRound } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import type { ReactNode } from "react";
import type { EntryToken } from "./use-entry-token.ts";

interface Props {
  readonly entry: Entry;
  readonly token: EntryToken | null;
}

function Note({ children }: { readonly children: ReactNode }) {
  return (
    <p className="mb-5 flex gap-2.5 rounded-control bg-well px-3 py-2.5 text-xs text-quiet ring-1 ring-line ring-inset">
      <KeyRound className="mt-px size-4 shrink-0" aria-hidden />
      <span className="min-w-0">{children}</span>
    </p>
  );
}

/** What the link does, or where the link of the first admin is. */
export function EntryNote({ entry, token }: Props) {
  const t = useTranslations("signIn.entry");
  if (token !== null) return <Note>{t(token.kind)}</Note>;
  if (!entry.needsAdmin) return null;
  return (
    <Note>
      {t.rich("needsAdmin", { file: (name) => <code className="break-all text-ink">{name}</code> })}
    </Note>
  );
}

/** The other ways in: as a guest, or who can help. */
export function EntryFooter({ entry, token }: Props) {
  const t = useTranslations("signIn");
  if (entry.signUp !== "open" && token !== null) return null;
  return (
    <p className="mt-6 border-t border-line pt-4 text-xs text-quiet">
      {entry.signUp === "open" ? (
        <>
          {t("guest")}{" "}
          <Link href="/" className="text-ink underline underline-offset-4">
            {t("guestAction")}
          </Link>
        </>
      ) : (
        t(`entry.${entry.signUp}`)
      )}
    </p>
  );
}

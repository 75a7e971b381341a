"use client";
import { Brain, Plus } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useSearchParams } from "next/navigation";
import { useEffect, useState } from "react";
import { buttonStyle } from "../ui/button.tsx";
import { keyOf } from "../ui/key-press.ts";
import { isBehindDialog } from "../parts/run-button.tsx";
import { Chat } from "./chat.tsx";
import { addressOf, openInPage } from "./talk-row.tsx";
import { Talks } from "./talks.tsx";

/** Links of the page's header. */
export function AssistantActions() {
  const t = useTranslations("assistant");
  return (
    <>
      <Link href="/assistant/memory" className={buttonStyle("quiet", "small")}>
        <Brain aria-hidden />
        {t("memory")}
      </Link>
      <Link
        href="/assistant"
        prefetch={false}
        onNavigate={openInPage("/assistant")}
        aria-label={t("new")}
        className={buttonStyle("plain", "small")}
      >
        <Plus aria-hidden />
        {t("newShort")}
      </Link>
    </>
  );
}

/**
 * Which conversation the page shows, and a key for what belongs to it. The one that a question began has the key of the new
 * one it was, so that words of a next question, typed meanwhile, stay.
 */
function useShown() {
  const address = useSearchParams();
  const conversationId = address.get("c");
  const [shown, setShown] = useState({ conversationId, begunId: null as string | null, key: 0 });
  if (shown.conversationId !== conversationId) {
    const isBegun = conversationId !== null && conversationId === shown.begunId;
    const key = isBegun ? shown.key : shown.key + 1;
    setShown({ conversationId, begunId: null, key });
  }
  const begin = (id: string) => {
    // Who has left meanwhile stays where they are; the list has the conversation.
    if (window.location.pathname !== "/assistant" || window.location.search.includes("c=")) return;
    setShown((now) => ({ ...now, begunId: id }));
    window.history.replaceState(null, "", addressOf(id));
  };
  return { conversationId, reach: address.get("m"), key: shown.key, begin };
}

/** Ctrl+Shift+O begins a new conversation, with the field for its question in focus. */
function useNewKey(): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isCommand = (event.ctrlKey || event.metaKey) && event.shiftKey && !event.altKey;
      if (!isCommand || keyOf(event) !== "O" || isBehindDialog()) return;
      event.preventDefault();
      if (window.location.search !== "") window.history.pushState(null, "", "/assistant");
      // The one of another conversation takes the focus when it is shown.
      document.querySelector("textarea")?.focus();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}

/** The assistant's page: the conversation in the URL, beside the list of all. */
export function Assistant() {
  const { conversationId, reach, key, begin } = useShown();
  const onCurrentDeleted = () => window.history.replaceState(null, "", "/assistant");
  useNewKey();
  return (
    <div className="flex flex-1 flex-col gap-x-10 px-4 sm:px-6 wide:grid wide:grid-cols-[minmax(0,1fr)_260px] wide:px-8">
      <Talks currentId={conversationId} onCurrentDeleted={onCurrentDeleted} />
      <Chat
        key={key}
        conversationId={conversationId}
        reach={reach}
        onConversation={begin}
        className="mx-auto w-full max-w-[720px] flex-1 wide:col-start-1 wide:row-start-1"
      />
    </div>
  );
}

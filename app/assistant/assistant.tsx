"use client";
import { Brain, ChevronDown, Plus } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useRouter, useSearchParams } from "next/navigation";
import { useCallback } from "react";
import { buttonStyle } from "../ui/button.tsx";
import { Chat } from "./chat.tsx";
import { Conversations } from "./conversations.tsx";

/** Links of the page's header. */
export function AssistantActions() {
  const t = useTranslations("assistant");
  return (
    <>
      <Link href="/assistant/memory" className={buttonStyle("quiet", "small")}>
        <Brain aria-hidden />
        {t("memory")}
      </Link>
      <Link href="/assistant" aria-label={t("new")} className={buttonStyle("plain", "small")}>
        <Plus aria-hidden />
        {t("newShort")}
      </Link>
    </>
  );
}

/** The assistant's page: the conversation in the URL, beside the list of all. */
export function Assistant() {
  const t = useTranslations("assistant");
  const router = useRouter();
  const conversationId = useSearchParams().get("c");
  const onConversation = useCallback((id: string) => router.replace(`/assistant?c=${id}`), [router]);
  const onCurrentDeleted = useCallback(() => router.replace("/assistant"), [router]);
  const list = <Conversations currentId={conversationId} onCurrentDeleted={onCurrentDeleted} />;
  return (
    <div className="grid gap-x-10 px-4 sm:px-6 wide:grid-cols-[minmax(0,1fr)_260px] wide:px-8">
      <details className="mb-4 wide:hidden">
        <summary className="flex w-fit cursor-pointer list-none items-center gap-1.5 rounded-control py-1 text-sm text-quiet hover:text-ink">
          <ChevronDown className="size-4" aria-hidden />
          {t("conversations")}
        </summary>
        <div className="mt-2">{list}</div>
      </details>
      <Chat
        key={conversationId ?? "new"}
        conversationId={conversationId}
        onConversation={onConversation}
        className="mx-auto min-h-[calc(100dvh-240px)] w-full max-w-[720px] wide:min-h-[calc(100dvh-100px)]"
      />
      <aside className="hidden wide:block">
        <div className="sticky top-6 max-h-[calc(100dvh-48px)] overflow-y-auto">{list}</div>
      </aside>
    </div>
  );
}

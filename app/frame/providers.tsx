"use client";
import { Toast } from "@base-ui/react/toast";
import { Tooltip } from "@base-ui/react/tooltip";
import { QueryClientProvider } from "@tanstack/react-query";
import { type Locale, type Messages, NextIntlClientProvider } from "next-intl";
import { type ReactNode, useState } from "react";
import { trustSession } from "../client/session.ts";
import { createQueryClient } from "../data/query-client.ts";
import { toasts } from "../ui/toasts.ts";

interface Props {
  readonly locale: Locale;
  readonly messages: Messages;
  readonly hasSession: boolean;
  readonly children: ReactNode;
}

function prepare(hasSession: boolean) {
  if (hasSession && typeof window !== "undefined") trustSession();
  return createQueryClient();
}

export function Providers({ locale, messages, hasSession, children }: Props) {
  const [queryClient] = useState(() => prepare(hasSession));
  return (
    <NextIntlClientProvider
      locale={locale}
      messages={messages}
      timeZone={Intl.DateTimeFormat().resolvedOptions().timeZone}
    >
      <QueryClientProvider client={queryClient}>
        <Tooltip.Provider delay={400}>
          <Toast.Provider toastManager={toasts}>{children}</Toast.Provider>
        </Tooltip.Provider>
      </QueryClientProvider>
    </NextIntlClientProvider>
  );
}

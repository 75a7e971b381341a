"use client";
import { Toast } from "@base-ui/react/toast";
import { CircleAlert, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { type MouseEvent, useEffect, useState } from "react";
import { buttonStyle } from "./button.tsx";
import { connectToasts } from "./toasts.tsx";

/** A press would take the focus from the page, and it would be lost with the toast. */
const keepFocus = (event: MouseEvent) => event.preventDefault();

function Toasts() {
  const t = useTranslations("common");
  const { toasts } = Toast.useToastManager();
  return toasts.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      className="stage flex min-h-12 w-full items-center gap-3 rounded-card bg-raised! py-2 pe-2 ps-4 shadow-float transition duration-180 data-ending-style:translate-y-2 data-ending-style:opacity-0 data-limited:hidden data-starting-style:translate-y-2 data-starting-style:opacity-0"
    >
      {toast.type === "fail" ? <CircleAlert className="size-4 shrink-0 text-fail" aria-hidden /> : null}
      <Toast.Content className="min-w-0 flex-1 py-1">
        <Toast.Title className="text-sm font-medium" render={<p />} />
        <Toast.Description className="text-xs text-quiet" />
      </Toast.Content>
      <Toast.Action onMouseDown={keepFocus} className={buttonStyle("quiet", "small")} />
      <Toast.Close
        aria-label={t("dismiss")}
        onMouseDown={keepFocus}
        className="touch inline-flex size-8 items-center justify-center rounded-control text-quiet hover:bg-hover hover:text-ink"
      >
        <X className="size-4" aria-hidden />
      </Toast.Close>
    </Toast.Root>
  ));
}

/** What `Toaster` shows once it is loaded. */
export function ToastList() {
  const t = useTranslations("common");
  const [manager] = useState(() => Toast.createToastManager());
  // After the effects of the provider inside, which listens by then.
  useEffect(
    () =>
      connectToasts({
        add: (toast) => manager.add(toast),
        close: (id) => manager.close(id),
      }),
    [manager],
  );
  return (
    <Toast.Provider toastManager={manager}>
      <Toast.Portal>
        {/* The library's own name is the one of a section of the settings. */}
        <Toast.Viewport
          aria-label={t("messages")}
          className="fixed bottom-[calc(var(--tabs)+24px)] left-1/2 z-70 flex w-[min(440px,calc(100vw-32px))] -translate-x-1/2 flex-col gap-2 outline-none max-wide:in-[:root:has([data-run-bar])]:bottom-[calc(var(--tabs)+108px)] wide:bottom-6"
        >
          <Toasts />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

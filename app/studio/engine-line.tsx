"use client";
import { useTranslations } from "next-intl";
import { useCapability } from "../data/use-capabilities.ts";

interface Props {
  /** A result is shown, so the line says what it is instead of what it will be. */
  readonly isDone: boolean;
}

/** Which engine does it and what that means. */
export function EngineLine({ isDone }: Props) {
  const t = useTranslations("studio");
  const capability = useCapability("outfit_change");
  if (capability === undefined) return <p className="h-[18px]" />;
  const reason = capability.reason ?? (capability.available ? null : t("noEngine"));
  const isOfNoConcern = isDone && capability.available;
  if (reason !== null && !isOfNoConcern) return <p className="text-xs text-warn">{reason}</p>;
  return (
    <p className="text-xs text-quiet">
      {capability.engine === "local"
        ? t(isDone ? "engineLocalDone" : "engineLocal")
        : t("engineOther", { engine: capability.engine ?? "" })}
    </p>
  );
}

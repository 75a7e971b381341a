"use client";
import { useTranslations } from "next-intl";
import { useCapability } from "../data/use-capabilities.ts";

/** Which engine will do it and what that means. */
export function EngineLine() {
  const t = useTranslations("studio");
  const capability = useCapability("outfit_change");
  if (capability === undefined) return <p className="h-[18px]" />;
  if (!capability.available) return <p className="text-xs text-warn">{capability.reason ?? t("noEngine")}</p>;
  return (
    <p className="text-xs text-quiet">
      {capability.engine === "local"
        ? t("engineLocal")
        : t("engineOther", { engine: capability.engine ?? "" })}
    </p>
  );
}

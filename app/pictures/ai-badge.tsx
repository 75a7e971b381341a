import { useTranslations } from "next-intl";

/** Marks a picture that an engine made. */
export function AiBadge() {
  const t = useTranslations("pictures");
  return (
    <span className="inline-flex h-[18px] items-center rounded-[4px] bg-black/65 px-1.5 text-[11px] font-semibold tracking-wide text-white">
      <span aria-hidden>{t("aiBadge")}</span>
      <span className="sr-only">{t("aiBadgeLong")}</span>
    </span>
  );
}

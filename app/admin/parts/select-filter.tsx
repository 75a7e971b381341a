"use client";
import { useTranslations } from "next-intl";
import { useSearchFilter } from "../../frame/use-search-filter.ts";
import { cx } from "../../ui/cx.ts";
import { inputStyle } from "../../ui/input-style.ts";

interface Props {
  /** Its name in the address. */
  readonly name: string;
  readonly label: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
}

/** A filter of few values that lives in the address. */
export function SelectFilter({ name, label, options }: Props) {
  const t = useTranslations("admin.jobs");
  const { params, set } = useSearchFilter();
  const value = params.get(name) ?? "";
  const isKnown = value === "" || options.some((option) => option.value === value);
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => set(name, event.target.value)}
      className={cx(inputStyle, "h-9! w-full px-2!", value === "" ? "text-quiet!" : "border-ink!")}
    >
      <option value="">{`${label}: ${t("any").toLowerCase()}`}</option>
      {isKnown ? null : <option value={value}>{value}</option>}
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </select>
  );
}

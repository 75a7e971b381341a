"use client";
import { ChevronDown, Copy, Star, Trash2 } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import type { ReactNode } from "react";
import { listOrders } from "@atelier/server/search-query";
import { jobKindOrder } from "../client/kinds.ts";
import { hasTerm, isByMeaning, toggleTerm } from "../client/search-terms.ts";
import { cx } from "../ui/button.tsx";
import { FilterChips, useSearchFilter } from "../parts/filters.tsx";
import { Chip, chipStyle } from "../ui/display.tsx";
import { Menu, MenuItem } from "../ui/overlays.tsx";

/** A selection makes a mask, which is no picture of the gallery. */
const kindFilters = jobKindOrder.filter((kind) => kind !== "segment");
const roleTerms = ["is:upload", "is:result"] as const;

interface TermChipProps {
  readonly search: string;
  readonly term: string;
  /** Of these only one can be. */
  readonly among?: readonly string[];
  readonly children: ReactNode;
}

/** Puts a term into the search, or takes it out. */
function TermChip({ search, term, among, children }: TermChipProps) {
  const { set } = useSearchFilter();
  return (
    <Chip pressed={hasTerm(search, term)} onPress={() => set("search", toggleTerm(search, term, among))}>
      {children}
    </Chip>
  );
}

interface MenuChipProps<Value extends string> {
  readonly search: string;
  /** What the chip says while no term is chosen. */
  readonly label: string;
  /** The value that needs no term. */
  readonly usual?: Value;
  readonly className?: string;
  readonly operator: "kind" | "order";
  readonly values: readonly Value[];
  readonly nameOf: (value: Value) => string;
}

/** One of many terms, of which a list can have one: a menu. */
function MenuChip<Value extends string>(props: MenuChipProps<Value>) {
  const { search, label, operator, usual, className, values, nameOf } = props;
  const { set } = useSearchFilter();
  const termOf = (value: string) => `${operator}:${value}`;
  const chosen = values.find((value) => hasTerm(search, termOf(value)));
  const choose = (value: Value) => {
    const term = value === usual ? chosen : value;
    if (term !== undefined) set("search", toggleTerm(search, termOf(term), values.map(termOf)));
  };
  return (
    <Menu
      trigger={
        <button type="button" aria-pressed={chosen !== undefined} className={cx(chipStyle, className)}>
          {chosen === undefined ? label : nameOf(chosen)}
          <ChevronDown aria-hidden />
        </button>
      }
    >
      {values.map((value) => (
        <MenuItem key={value} checked={value === (chosen ?? usual)} onSelect={() => choose(value)}>
          {nameOf(value)}
        </MenuItem>
      ))}
    </Menu>
  );
}

/** What can be chosen among, and in which order it stands. */
export function FilterBar({ search }: { readonly search: string }) {
  const t = useTranslations("gallery");
  const kinds = useTranslations("jobs.kinds");
  return (
    <FilterChips label={t("filters")}>
      <TermChip search={search} term="is:starred">
        <Star aria-hidden />
        {t("starred")}
      </TermChip>
      {roleTerms.map((term) => (
        <TermChip key={term} search={search} term={term} among={roleTerms}>
          {t(`roles.${term === "is:upload" ? "upload" : "result"}`)}
        </TermChip>
      ))}
      <MenuChip
        search={search}
        label={t("kind")}
        operator="kind"
        values={kindFilters}
        nameOf={(kind) => kinds(kind)}
      />
      <TermChip search={search} term="is:trashed">
        <Trash2 aria-hidden />
        {t("trash")}
      </TermChip>
      <Link href="/gallery/duplicates" className={chipStyle}>
        <Copy aria-hidden />
        {t("duplicates")}
      </Link>
      {/* What is near in meaning has no other order. */}
      {isByMeaning(search) ? null : (
        <MenuChip
          search={search}
          label={t("orders.made")}
          operator="order"
          usual="made"
          values={listOrders}
          className="max-wide:order-first wide:ms-auto"
          nameOf={(order) => t(`orders.${order}`)}
        />
      )}
    </FilterChips>
  );
}

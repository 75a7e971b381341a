"use client";
import { LayoutGrid, Link2, Plus, Scissors, Shirt, UserRound } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useCallback, useMemo, useState } from "react";
import { garmentCategories, garmentColours } from "@atelier/server/wardrobe-names";
import { failureOf, useFailureText } from "../ui/failures.ts";
import { FilterChip, FilterChips, FilterDivider, TextFilter, useSearchFilter } from "../parts/filters.tsx";
import { LoadFailed, PageHeader } from "../parts/page-parts.tsx";
import { Button, buttonStyle, Spinner } from "../ui/button.tsx";
import { EmptyState } from "../ui/display.tsx";
import { Checkbox, Field, Segmented } from "../ui/fields.tsx";
import { Dialog, Menu, MenuItem } from "../ui/overlays.tsx";
import { useFilePicker } from "../uploads/drop.tsx";
import { addUploads } from "../uploads/store.ts";
import { useAddFromAddress, useAddToWardrobe } from "../client/wardrobe-changes.ts";
import { ItemCard } from "./item-card.tsx";
import { ItemDialog } from "./item-dialog.tsx";
import { itemMatches, useWardrobe, type WardrobeItem, type What } from "../client/wardrobe.ts";

interface Adding {
  readonly what: What;
  readonly cutsOut: boolean;
}

/** Sends files, and puts each into the wardrobe once it is stored. */
function useAddFiles({ what, cutsOut }: Adding) {
  const { mutate } = useAddToWardrobe();
  return useFilePicker(
    useCallback(
      (files: File[]) => addUploads(files, ({ id }) => mutate({ imageId: id, what, cutsOut })),
      [cutsOut, mutate, what],
    ),
  );
}

const addressChoices = ["garment", "person"] as const satisfies readonly What[];

/** Adds a garment or a person by the address of its picture. */
function AddressDialog({ onClose }: { readonly onClose: () => void }) {
  const t = useTranslations("wardrobe");
  const textOf = useFailureText();
  const [url, setUrl] = useState("");
  const [what, setWhat] = useState<What>("garment");
  const [isCut, setCut] = useState(false);
  const { mutate, isPending, error } = useAddFromAddress();
  const failure = error === null ? null : textOf(failureOf(error));
  return (
    <Dialog open onOpenChange={(isOpen) => isOpen || onClose()} title={t("addByAddress")}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          mutate({ url, what, cutsOut: what === "garment" && isCut }, { onSuccess: onClose });
        }}
      >
        <Field
          name="url"
          type="url"
          required
          label={t("address")}
          hint={t("addressHint")}
          value={url}
          maxLength={2_048}
          error={failure === null ? null : `${failure.title}. ${failure.advice}`}
          onChange={(event) => setUrl(event.target.value)}
        />
        <div>
          <Segmented
            label={t("addressShows")}
            value={what}
            onChange={setWhat}
            options={addressChoices.map((value) => ({ value, label: t(`edit.${value}`) }))}
          />
        </div>
        {what === "garment" ? (
          <Checkbox checked={isCut} onChange={setCut}>
            {t("cutOutToo")}
          </Checkbox>
        ) : null}
        <div className="mt-2 flex justify-end gap-2">
          <Button look="quiet" onClick={onClose}>
            {t("cancel")}
          </Button>
          <Button look="primary" type="submit" disabled={isPending}>
            {isPending ? <Spinner /> : null}
            {t("addIt")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function AddMenu() {
  const t = useTranslations("wardrobe");
  const garments = useAddFiles({ what: "garment", cutsOut: false });
  const worn = useAddFiles({ what: "garment", cutsOut: true });
  const persons = useAddFiles({ what: "person", cutsOut: false });
  const many = { multiple: true };
  const [asksAddress, setAsksAddress] = useState(false);
  return (
    <>
      <Menu
        align="end"
        trigger={
          <button type="button" className={buttonStyle("primary")}>
            <Plus aria-hidden />
            <span className="max-sm:sr-only">{t("add")}</span>
          </button>
        }
      >
        <MenuItem onSelect={() => garments(many)}>
          <Shirt aria-hidden />
          {t("addGarment")}
        </MenuItem>
        <MenuItem onSelect={() => worn(many)}>
          <Scissors aria-hidden />
          <span>
            {t("addCutOut")}
            <span className="block text-xs text-quiet">{t("addCutOutHint")}</span>
          </span>
        </MenuItem>
        <MenuItem onSelect={() => persons(many)}>
          <UserRound aria-hidden />
          {t("addPerson")}
        </MenuItem>
        <MenuItem onSelect={() => setAsksAddress(true)}>
          <Link2 aria-hidden />
          {t("addByAddress")}
        </MenuItem>
      </Menu>
      {asksAddress ? <AddressDialog onClose={() => setAsksAddress(false)} /> : null}
    </>
  );
}

function Filters({ items }: { readonly items: readonly WardrobeItem[] }) {
  const t = useTranslations("wardrobe");
  const { params } = useSearchFilter();
  const categories = garmentCategories.filter((one) => items.some(({ category }) => category === one));
  const colours = garmentColours.filter((one) => items.some(({ colour }) => colour === one));
  const chip = (name: string, value: string, label: string) => (
    <FilterChip key={`${name} ${value}`} name={name} value={value} pressed={params.get(name) === value}>
      <span className="inline-block first-letter:uppercase">{label}</span>
    </FilterChip>
  );
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 pb-4 sm:px-6 wide:px-8">
      <TextFilter
        name="q"
        label={t("search")}
        placeholder={t("searchHint")}
        isSearch
        className="max-sm:w-full"
      />
      <FilterChips label={t("filter")}>
        {chip("what", "garment", t("garments"))}
        {chip("what", "person", t("persons"))}
        {categories.length === 0 ? null : <FilterDivider />}
        {categories.map((one) => chip("category", one, t(`categories.${one}`)))}
        {colours.length < 2 ? null : <FilterDivider />}
        {colours.length < 2 ? null : colours.map((one) => chip("colour", one, t(`colours.${one}`)))}
      </FilterChips>
    </div>
  );
}

/** The ways to begin: a garment and a person are what an outfit needs. */
function FirstItems() {
  const t = useTranslations("wardrobe");
  const garments = useAddFiles({ what: "garment", cutsOut: false });
  const persons = useAddFiles({ what: "person", cutsOut: false });
  const many = { multiple: true };
  return (
    <>
      <Button onClick={() => garments(many)}>
        <Shirt aria-hidden />
        {t("addGarment")}
      </Button>
      <Button onClick={() => persons(many)}>
        <UserRound aria-hidden />
        {t("addPerson")}
      </Button>
    </>
  );
}

/** The items that fit the filters. */
function Items({ items }: { readonly items: readonly WardrobeItem[] }) {
  const t = useTranslations("wardrobe");
  const { params } = useSearchFilter();
  const [editedId, setEdited] = useState<string | null>(null);
  const shown = useMemo(() => items.filter((item) => itemMatches(item, params)), [items, params]);
  const edited = items.find(({ id }) => id === editedId);
  if (items.length === 0)
    return (
      <EmptyState title={t("empty")} text={t("emptyText")}>
        <FirstItems />
      </EmptyState>
    );
  return (
    <>
      <Filters items={items} />
      {shown.length === 0 ? <EmptyState title={t("nothing")} text={t("nothingText")} /> : null}
      <ul
        aria-label={t("title")}
        className="grid grid-cols-[repeat(auto-fill,minmax(150px,1fr))] gap-x-4 gap-y-6 px-4 pb-24 sm:grid-cols-[repeat(auto-fill,minmax(190px,1fr))] sm:px-6 wide:px-8"
      >
        {shown.map((item) => (
          <ItemCard key={item.id} item={item} onEdit={() => setEdited(item.id)} />
        ))}
      </ul>
      {edited === undefined ? null : (
        <ItemDialog key={edited.id} item={edited} onClose={() => setEdited(null)} />
      )}
    </>
  );
}

/** Garments and persons that are kept at hand; a click wears them in the studio. */
export function Wardrobe() {
  const t = useTranslations("wardrobe");
  const { data, error, refetch } = useWardrobe();
  return (
    <>
      <PageHeader title={t("title")}>
        <Link href="/lookbook" className={buttonStyle()}>
          <LayoutGrid aria-hidden />
          {t("lookbook")}
        </Link>
        <AddMenu />
      </PageHeader>
      {data === undefined && error !== null ? (
        <LoadFailed error={error} onRetry={() => void refetch()} />
      ) : null}
      {data === undefined ? null : <Items items={data.items} />}
    </>
  );
}

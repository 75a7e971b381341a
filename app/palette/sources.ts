"use client";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import {
  Bookmark,
  CircleHelp,
  CircleUserRound,
  Copy,
  Gauge,
  ImagePlus,
  Images,
  Keyboard,
  KeyRound,
  Layers,
  LayoutGrid,
  Link,
  ListChecks,
  LogOut,
  Moon,
  NotebookPen,
  ShieldCheck,
  Search,
  Star,
  Sun,
  SunMoon,
  Tags,
  Trash2,
  Upload,
  WandSparkles,
} from "lucide-react";
import { useTranslations } from "next-intl";
import { useSearchParams } from "next/navigation";
import { useSyncExternalStore } from "react";
import { adminPages } from "../admin/pages.ts";
import { searchOf, useBoards, useSharedBoards } from "../client/boards.ts";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys, useMe, viewerTimezone } from "../client/queries.ts";
import { boardFileUrl, imageUrl } from "../client/urls.ts";
import { referenceHref } from "../client/references.ts";
import { signOut } from "../client/session.ts";
import { applyTheme, currentTheme, watchTheme } from "../client/cookies.ts";
import { useNavItems } from "../parts/nav-items.ts";
import { shortcutsOpen } from "../parts/openings.ts";
import { readableSearch } from "../client/search-terms.ts";
import { jobHref } from "../jobs/text.ts";
import { promptsOf } from "../jobs/params.ts";
import { shownKind } from "../client/kinds.ts";
import { useImageName } from "../pictures/picture.tsx";
import { useSettled } from "../ui/hooks.ts";
import { useFilePicker, useUploadWithOffer } from "../uploads/drop.tsx";
import type { Choice } from "./choices.ts";

/** The gallery with a search. */
export const galleryOf = (search: string) => `/gallery?search=${encodeURIComponent(search)}`;

/** Pages below those of the navigation. */
const innerPages = [
  { key: "starred", href: galleryOf("is:starred"), icon: Star },
  { key: "trash", href: galleryOf("is:trashed"), icon: Trash2 },
  { key: "duplicates", href: "/gallery/duplicates", icon: Copy },
  { key: "searchHelp", href: "/gallery?help=search", icon: CircleHelp },
  { key: "batches", href: "/jobs?view=batches", icon: Layers },
  { key: "lookbook", href: "/lookbook", icon: LayoutGrid },
  { key: "memory", href: "/assistant/memory", icon: NotebookPen },
  { key: "origin", href: "/origin", icon: ShieldCheck },
  { key: "tags", href: "/settings#tags", icon: Tags },
] as const;

/** Guests have none of these. */
const accountPages = [
  { key: "links", href: "/settings#links", icon: Link },
  { key: "keys", href: "/settings#api-keys", icon: KeyRound },
] as const;

/** Not in the navigation while nothing makes pictures from text; its page says what is missing. */
const createPage = { key: "create", href: "/create", icon: WandSparkles } as const;

/** The pages that this user may open. */
function usePages(): readonly Choice[] {
  const t = useTranslations("palette");
  const pages = useTranslations("frame.pages");
  const admin = useTranslations("admin.pages");
  const items = useNavItems(false);
  const me = useMe();
  const isAdmin = me?.isAdmin === true;
  const hasAccount = me?.isGuest === false;
  const group = "pages" as const;
  const main = items.map(({ key, href, icon, goKey }): Choice => {
    return { key: `page:${key}`, group, label: pages(key), href, icon, keys: `g ${goKey}` };
  });
  const hasCreate = items.some(({ key }) => key === createPage.key);
  const shown = [...(hasCreate ? [] : [createPage]), ...innerPages, ...(hasAccount ? accountPages : [])];
  const inner = shown.map(({ key, href, icon }): Choice => {
    return { key: `page:${key}`, group, label: t(`pages.${key}`), href, icon };
  });
  const forAdmins = adminPages
    .filter(({ href }) => href !== "/admin")
    .map(({ key, href }): Choice => {
      const label = t("adminPage", { page: admin(key) });
      return { key: `page:admin-${key}`, group, label, words: [admin(key)], href, icon: Gauge };
    });
  return [...main, ...inner, ...(isAdmin ? forAdmins : [])];
}

/** Whether the page is dark now, by choice or because the system is. */
function isDarkNow(): boolean {
  const theme = currentTheme();
  return theme === "dark" || (theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
}

function useThemeActions(): readonly Choice[] {
  const t = useTranslations("palette");
  const theme = useSyncExternalStore(watchTheme, currentTheme, () => "system" as const);
  const other = isDarkNow() ? "light" : "dark";
  const group = "actions" as const;
  const words = [t("themeWords")];
  const toggle: Choice = {
    key: "act:theme",
    group,
    label: t(`themes.${other}`),
    words,
    icon: other === "dark" ? Moon : Sun,
    act: () => applyTheme(other),
  };
  if (theme === "system") return [toggle];
  const asSystem = { key: "act:theme-system", group, label: t("themes.system"), words, icon: SunMoon };
  return [toggle, { ...asSystem, act: () => applyTheme("system") }];
}

/** Signing in for a guest, signing out for a user. */
function useEntryAction(): readonly Choice[] {
  const t = useTranslations("palette");
  const me = useMe();
  const showFailure = useFailureToast();
  const group = "actions" as const;
  if (me === undefined) return [];
  if (me === null || me.isGuest)
    return [{ key: "act:sign-in", group, label: t("signIn"), href: "/sign-in", icon: CircleUserRound }];
  const leave = () => void signOut().catch(showFailure);
  return [{ key: "act:sign-out", group, label: t("signOut"), act: leave, icon: LogOut, isPassing: true }];
}

function useActions(onNewBoard: () => void): readonly Choice[] {
  const t = useTranslations("palette");
  const pick = useFilePicker(useUploadWithOffer());
  const theme = useThemeActions();
  const entry = useEntryAction();
  const shown = useSearchParams().get("image");
  const group = "actions" as const;
  const reference = { key: "act:reference", group, icon: ImagePlus, isPassing: true } as const;
  return [
    shown === null
      ? { ...reference, label: t("reference"), href: referenceHref([]) }
      : { ...reference, label: t("thisAsReference"), href: referenceHref([shown]) },
    { key: "act:upload", group, label: t("upload"), icon: Upload, act: () => pick({ multiple: true }) },
    { key: "act:board", group, label: t("newBoard"), icon: LayoutGrid, act: onNewBoard, staysOpen: true },
    ...theme,
    {
      key: "act:shortcuts",
      group,
      label: t("shortcuts"),
      icon: Keyboard,
      keys: "?",
      act: () => shortcutsOpen.set(true),
    },
    ...entry,
  ];
}

/** Own boards and saved searches, then those that others share. */
function useBoardChoices(): readonly Choice[] {
  const t = useTranslations("palette");
  const boards = useBoards() ?? [];
  const shared = useSharedBoards() ?? [];
  const group = "boards" as const;
  const own = boards.map((board): Choice => {
    const isSearch = board.search !== null;
    const [cover] = board.coverIds;
    return {
      key: `board:${board.id}`,
      group,
      label: board.name,
      detail: isSearch ? t("savedSearch") : t("pictures", { count: board.pictures ?? 0 }),
      href: galleryOf(searchOf(board)),
      icon: isSearch ? Bookmark : LayoutGrid,
      cover: isSearch || cover === undefined ? undefined : { src: imageUrl(cover, "thumbnail") },
    };
  });
  const others = shared.map((board): Choice => {
    const [cover] = board.coverIds;
    return {
      key: `board:${board.id}`,
      group,
      label: board.name,
      detail: t("by", { name: board.ownerName }),
      href: `/boards/${board.id}`,
      icon: LayoutGrid,
      cover: cover === undefined ? undefined : { src: boardFileUrl(board.id, cover, "thumbnail") },
    };
  });
  return [...own, ...others];
}

const recentWork = { limit: 20 } as const;

/** The newest jobs and batches. */
function useWork(): readonly Choice[] {
  const t = useTranslations("palette");
  const kinds = useTranslations("jobs.kinds");
  const states = useTranslations("jobs.status");
  const jobs = useQuery({
    queryKey: keys.jobList(recentWork),
    queryFn: () => api.jobs.list.query(recentWork),
  });
  const batches = useQuery({
    queryKey: [...keys.batchList, recentWork],
    queryFn: () => api.batches.list.query(recentWork),
  });
  const group = "work" as const;
  const ofJobs = (jobs.data?.items ?? []).map((job) => {
    const { prompt } = promptsOf(job.params);
    const [output] = job.kind === "segment" ? [] : job.outputs;
    const choice: Choice = {
      key: `job:${job.id}`,
      group,
      label: kinds(shownKind(job)),
      detail: prompt === "" ? states(job.status) : prompt,
      href: jobHref(job),
      icon: ListChecks,
      cover: output && { src: imageUrl(output.imageId, "thumbnail") },
    };
    return { at: job.createdAt, choice };
  });
  const ofBatches = (batches.data?.items ?? []).map((batch) => {
    const choice: Choice = {
      key: `batch:${batch.id}`,
      group,
      label: batch.title ?? t("batch", { count: batch.size }),
      detail: batch.title === null ? undefined : t("ofBatch", { count: batch.size }),
      href: `/batches/${batch.id}`,
      icon: Layers,
    };
    return { at: batch.createdAt, choice };
  });
  return [...ofJobs, ...ofBatches]
    .toSorted((a, b) => new Date(b.at).getTime() - new Date(a.at).getTime())
    .map(({ choice }) => choice);
}

const quietMs = 200;
const mostPictures = 6;

/** The newest pictures that the gallery finds for the text, and the way to all of them. */
function usePictures(text: string): { readonly pictures: readonly Choice[]; readonly isSearching: boolean } {
  const t = useTranslations("palette");
  const nameOf = useImageName();
  const typed = text.trim();
  const settled = useSettled(typed, quietMs);
  const { search } = readableSearch(settled);
  const filters = { search, limit: mostPictures };
  const { data, isFetching } = useQuery({
    queryKey: keys.imageList(filters),
    queryFn: ({ signal }) => api.images.list.query({ ...filters, timezone: viewerTimezone() }, { signal }),
    enabled: search !== undefined,
    placeholderData: keepPreviousData,
  });
  if (typed === "") return { pictures: [], isSearching: false };
  const group = "pictures" as const;
  const found = (search === undefined ? [] : (data?.items ?? [])).map((image): Choice => {
    return {
      key: `picture:${image.id}`,
      group,
      label: nameOf(image),
      href: `/gallery?image=${image.id}`,
      icon: Images,
      cover: { src: imageUrl(image.id, "thumbnail"), thumbhash: image.thumbhash },
    };
  });
  const label = t("searchGallery", { text: typed });
  const all = {
    key: "act:search",
    group,
    label,
    href: galleryOf(typed),
    icon: Search,
    isPassing: true,
  } as const;
  return { pictures: [...found, all], isSearching: isFetching || settled !== typed };
}

/** Everything that can be chosen for what is typed. */
export function useChoices(text: string, onNewBoard: () => void) {
  const { pictures, isSearching } = usePictures(text);
  const choices = [usePages(), useActions(onNewBoard), useBoardChoices(), useWork(), pictures].flat();
  return { choices, isSearching };
}

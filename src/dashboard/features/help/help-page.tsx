import { useDeferredValue, useEffect, useState } from "react";
import useSWR from "swr";
import { Link, useParams } from "wouter";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { SearchField } from "../../kit/field.tsx";
import { PageHead, Section } from "../../kit/page.tsx";
import HelpText from "./help-text.tsx";
import { type HelpPage, helpGroups, helpPages, toAnchor } from "./pages.ts";
import { findSections, loadSections, toPlainText } from "./sections.ts";

/** Shorter words are in nearly every section. */
const searchedLengthMin = 2;
const foundMax = 30;
const isKept = { revalidateOnFocus: false, revalidateIfStale: false } as const;

/** The documentation of this version of the gateway: one page, or the list of pages. */
export default function Help() {
  const { "*": name = "" } = useParams<{ "*"?: string }>();
  const page = helpPages.find((each) => each.name === name);
  return page === undefined ? <Contents /> : <Page key={page.name} page={page} />;
}

function Contents() {
  const [text, setText] = useState("");
  const query = useDeferredValue(text.trim().toLowerCase());
  return (
    <>
      <PageHead title="Documentation" description="Documentation of this version of the gateway. Works offline." />
      <div className="stack">
        <SearchField
          label="Search documentation"
          placeholder="Search the documentation"
          value={text}
          onText={setText}
        />
        {query.length >= searchedLengthMin ? (
          <SearchResults query={query} />
        ) : (
          helpGroups.map(({ title, pages }) => (
            <Section key={title} title={title}>
              <ul className="rows">
                {pages.map(({ name, title: heading, description }) => (
                  <li key={name}>
                    <Link className="link" href={`/help/${name}`}>
                      {heading}
                    </Link>
                    <span className="sub">{description}</span>
                  </li>
                ))}
              </ul>
            </Section>
          ))
        )}
      </div>
    </>
  );
}

function SearchResults({ query }: { query: string }) {
  const sections = useSWR("help", loadSections, isKept);
  return (
    <section className="card" aria-label="Results">
      <Loaded state={sections} lines={4}>
        {(all) => {
          const matches = findSections(all, query);
          if (matches.length === 0) return <Empty icon="search" title="Nothing found" />;
          return (
            <ul className="rows">
              {matches.slice(0, foundMax).map(({ page, heading, address }) => (
                <li key={address}>
                  <Link className="link" href={address}>
                    {heading}
                  </Link>
                  <span className="sub">{page}</span>
                </li>
              ))}
            </ul>
          );
        }}
      </Loaded>
    </section>
  );
}

function Page({ page: { name, title, load } }: { page: HelpPage }) {
  const text = useSWR(["help", name], async () => (await load()).default, isKept);
  const isLoaded = text.data !== undefined;
  // The section of the address is there only now.
  useEffect(() => {
    if (isLoaded) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
  }, [isLoaded]);
  return (
    <>
      <Link className="link back" href="/help">
        All documentation
      </Link>
      <PageHead title={title} />
      <Loaded state={text} lines={8}>
        {(markdown) => {
          const body = markdown.replace(/^# .*\n/, "");
          const headings = [...body.matchAll(/^## (.+)$/gm)].map(([, heading = ""]) => heading);
          return (
            <div className="card help-page">
              {headings.length > 1 && (
                <nav aria-label="On this page" className="help-contents">
                  {headings.map((heading) => (
                    <a key={heading} href={`#${toAnchor(heading)}`}>
                      {toPlainText(heading)}
                    </a>
                  ))}
                </nav>
              )}
              <HelpText page={name} text={body} />
            </div>
          );
        }}
      </Loaded>
    </>
  );
}

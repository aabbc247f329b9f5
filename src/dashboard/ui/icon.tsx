/** Outlines on a grid of 24, as paths. */
const shapes = {
  overview: "M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z",
  key: "M15.5 8.5h.01M21 8.5a5.5 5.5 0 1 1-7.6-5.08A5.5 5.5 0 0 1 21 8.5ZM11.4 12.6 3 21M6 18l2.5 2.5M9 15l2 2",
  billing: "M3 7a2 2 0 0 1 2-2h14a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2zM3 10h18M7 15h3",
  models: "M12 3 4 7.5v9L12 21l8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9",
  play: "M5 4h14a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2h-7l-5 4v-4H5a2 2 0 0 1-2-2V6a2 2 0 0 1 2-2ZM8 9h8M8 12.5h5",
  admin: "M12 3 5 6v5.5c0 4.4 2.9 7.9 7 9.5 4.1-1.600 7-5.1 7-9.500V6zM9 12l2.200 2.200L15.500 10",
  accounts:
    "M16 20v-1.500a3.500 3.500 0 0 0-3.500-3.500h-5A3.500 3.500 0 0 0 4 18.500V20M10 11.500a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7ZM20 20v-1.500a3.500 3.500 0 0 0-2.500-3.350M15.500 4.700a3.500 3.500 0 0 1 0 6.600",
  voucher:
    "M4 6h16a1 1 0 0 1 1 1v3a2 2 0 0 0 0 4v3a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1v-3a2 2 0 0 0 0-4V7a1 1 0 0 1 1-1ZM14.500 6v2M14.500 11v2M14.500 16v2",
  plugin: "M9 3v5M15 3v5M6 8h12v4a6 6 0 0 1-12 0zM12 18v3",
  bell: "M6 17h12l-1.500-2.500V10a4.500 4.500 0 0 0-9 0v4.500zM10.500 20h3M12 5.500V4",
  pulse: "M3 12h4l2.500-7 5 14 2.500-7h4",
  settings:
    "M4 7h9M17 7h3M4 17h3M11 17h9M15 9.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5ZM9 19.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5Z",
  list: "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
  menu: "M4 7h16M4 12h16M4 17h16",
  close: "M6 6l12 12M18 6 6 18",
  check: "M5 12.500 10 17.500 19 7",
  copy: "M9 9h10a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H9a1 1 0 0 1-1-1V10a1 1 0 0 1 1-1ZM5 15H4a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1h10a1 1 0 0 1 1 1v1",
  plus: "M12 5v14M5 12h14",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM20 20l-4-4",
  alert: "M12 8v5M12 16.500h.01M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Z",
  info: "M12 11v5.500M12 7.500h.01M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Z",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM12 3v2M12 19v2M3 12h2M19 12h2M5.600 5.600 7 7M17 17l1.400 1.400M5.600 18.400 7 17M17 7l1.400-1.400",
  moon: "M20 14.500A8.500 8.500 0 0 1 9.500 4a8.500 8.500 0 1 0 10.500 10.500Z",
  screen: "M4 5h16a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1ZM9 21h6M12 17v4",
  eye: "M2.500 12S6 5.500 12 5.500 21.500 12 21.500 12 18 18.500 12 18.500 2.500 12 2.500 12ZM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6Z",
  out: "M14 4H6a1 1 0 0 0-1 1v14a1 1 0 0 0 1 1h8M10 12h11M17.500 8.500 21 12l-3.500 3.500",
  download: "M12 4v11M7.500 10.500 12 15l4.500-4.500M5 20h14",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5",
  image:
    "M4 5h16a1 1 0 0 1 1 1v12a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1ZM8.500 11a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3ZM4 17l5-4 3.500 2.500L16 12l5 4.500",
  sound: "M4 10v4h3.500L12 18V6L7.500 10zM15.500 9a4 4 0 0 1 0 6M18 6.500a8 8 0 0 1 0 11",
  mic: "M12 15a3 3 0 0 0 3-3V6a3 3 0 0 0-6 0v6a3 3 0 0 0 3 3ZM6 11.500a6 6 0 0 0 12 0M12 17.500V21",
  refresh: "M20 11a8 8 0 0 0-14-4.500L4 8.500M4 4v4.500h4.500M4 13a8 8 0 0 0 14 4.500l2-2M20 20v-4.500h-4.500",
} as const;

export type IconName = keyof typeof shapes;

/** Always accompanied by a text or label, so hidden from screen readers. */
export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.7"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={shapes[name]} />
    </svg>
  );
}

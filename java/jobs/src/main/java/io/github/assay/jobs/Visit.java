package io.github.assay.jobs;

/**
 * One row of the table UserVisits, as text with commas: sourceIP, destURL, visitDate, adRevenue, userAgent, countryCode,
 * languageCode, searchWord, duration. Money is held in cents, so that sums are exact.
 */
final class Visit {
    final String sourceIp;
    final String destUrl;
    final String date;
    final long revenueCents;

    private Visit(String sourceIp, String destUrl, String date, long revenueCents) {
        this.sourceIp = sourceIp;
        this.destUrl = destUrl;
        this.date = date;
        this.revenueCents = revenueCents;
    }

    static Visit parse(String row) {
        String[] columns = row.split(",", 5);
        return new Visit(columns[0], columns[1], columns[2], Long.parseLong(columns[3].replace(".", "")));
    }

    /** Says whether the join's condition holds: visitDate between 1999-01-01 and 2000-01-01, both left out. */
    boolean isSelected() {
        return date.compareTo("1999-01-01") > 0 && date.compareTo("2000-01-01") < 0;
    }

    /** Returns an amount as the tables have it: with a point before the last two digits. */
    static String money(long cents) {
        return cents / 100 + "." + cents % 100 / 10 + cents % 10;
    }
}

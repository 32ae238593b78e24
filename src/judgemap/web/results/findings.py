"""What a worker works out after a fit, as plain JSON for pages: judges, reliability, checks, areas.

`work_out(run, fit, data)` returns a dict of dicts and lists of str, int, float and None (None where there is nothing to
say, never NaN). Less than 1 MB at 452 areas. Its keys:

``judges``: one entry a judge, in the order in which judges first appear
    judge                     the name
    comparisons, decided      pairs shown; of them with a winner
    ties, skipped, unknown    how many of each; ``undecided`` is their sum as a share of ``comparisons``
    left                      decided for the left area
    left_share, left_low, left_high   left / decided with its 95 % interval; None where sides were not recorded
    seconds_median, seconds_low, seconds_high   median and quartiles of the time taken; None without times
    infit, outfit             mean squares against the other judges; 1 is as the model expects; None for a lone judge
    infit_z, outfit_z         (mean square − 1) / its standard deviation if the judge answers like the others
    agreement, agreement_low, agreement_high   share of decided answers that the other judges' fit would give, 95 %
    agreement_expected        what it would be on average if the judge answers like the others
    repeats, consistency      how often a pair came back, and the share of the same answer; None where none came back
    stands_out                list of sentences, empty for most judges
``judges_note``           one sentence where the table cannot say something (a lone judge, no sides, no times), or ""
``times``                 the histogram of seconds
    edges                     bins' edges, ascending, in seconds; the last bin also holds all that took longer
    counts                    of all comparisons together
    by_judge                  {judge: counts}
    median                    of all comparisons, None without times
``surprises``: up to 30 decided answers, the least expected first
    judge, chosen, other      the judge, and the ids of the two areas; chosen_name, other_name their names
    chosen_risk, other_risk   posterior median risks
    probability               posterior probability of choosing so
    seconds                   or None
``reliability``           of all answers of the fit
    note                      one sentence: what the figures say, or what is missing for them
    answers, judges           decided comparisons and judges used
    bayes, bayes_low, bayes_high    squared correlation of estimate and truth: posterior mean and 95 % interval
    ssr                       scale separation reliability; may be negative with few answers
    split_half, split_half_low, split_half_high   Pearson of two halves of the judges: median and 95 % over splits
    split_half_full           the same stepped up to all answers by Spearman and Brown, 2r / (1 + r)
    splits                    how many splits
``reliability_over_time``: entries after a tenth, two tenths … of the answers, in the order in which they were given
    answers, judges, bayes, bayes_low, bayes_high, ssr, split_half, split_half_full   as above, None where not known
``check``                 posterior predictive check
    note                      one sentence
    checks                    list of {name, words, observed, expected, low, high, p}: name one of areas, pairs, left,
                              triads; ``words`` says what is counted; p near 0 or 1 is a misfit
    n_outside                 areas whose observed win rate is outside its 95 % predictive interval
``areas``: one entry an area, in the order of the areas (and of ``FitRun.rows``)
    id, wins, losses          decided comparisons won and lost
    win_rate, win_expected, win_low, win_high, win_p   observed rate against its predictive distribution; None if never
                              compared
    p_top5, p_top10, p_top20  P(among the k of highest risk); None where there are no more than k areas
    quantiles                 of risk, at ``quantile_levels``
    density                   draws of risk in each bin of ``risk_edges``, as shares in thousandths
``quantile_levels``       [0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975]
``risk_edges``            41 edges of bins, the same for all areas
"""

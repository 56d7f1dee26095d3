//! Clauses: ORDER BY, LIMIT, and all that are refused.

use sqlparser::ast::{
    self, Expr as Sql, LimitClause, OrderByKind, SelectFlavor, Spanned, TableFactor, Value,
    WildcardAdditionalOptions,
};

use super::position::{Places, place, start};
use crate::error::QueryError;

pub(super) fn refuse_of_query(query: &ast::Query, places: &Places) -> Result<(), QueryError> {
    let ast::Query {
        with,
        body: _,
        order_by: _,
        limit_clause: _,
        fetch,
        locks,
        for_clause,
        settings,
        format_clause,
        pipe_operators,
    } = query;
    if let Some(with) = with {
        refuse_of_with(with, places)?;
    }
    let refused = [
        (fetch.is_some(), "FETCH"),
        (!locks.is_empty() || for_clause.is_some(), "FOR"),
        (settings.is_some(), "SETTINGS"),
        (format_clause.is_some(), "FORMAT"),
        (!pipe_operators.is_empty(), "|>"),
    ];
    refuse_first(&refused, places)
}

/// The queries that WITH names.
pub(super) fn names_of(query: &ast::Query) -> &[ast::Cte] {
    query.with.as_ref().map_or(&[], |with| &with.cte_tables)
}

fn refuse_of_with(with: &ast::With, places: &Places) -> Result<(), QueryError> {
    let ast::With {
        with_token: _,
        recursive,
        cte_tables,
    } = with;
    refuse_first(&[(*recursive, "RECURSIVE")], places)?;
    for cte in cte_tables {
        let ast::Cte {
            alias,
            query: _,
            from,
            materialized,
            closing_paren_token: _,
        } = cte;
        refuse_names_for_columns(Some(alias))?;
        let refused = [(from.is_some(), "FROM"), (materialized.is_some(), "MATERIALIZED")];
        refuse_first(&refused, places)?;
    }
    Ok(())
}

pub(super) fn refuse_of_select(select: &ast::Select, places: &Places) -> Result<(), QueryError> {
    // Fields are named one by one, so that a clause of a later parser does not compile unseen.
    let ast::Select {
        select_token: _,
        optimizer_hints: _,
        distinct,
        select_modifiers,
        top,
        top_before_distinct: _,
        projection,
        exclude,
        into,
        from: _,
        lateral_views,
        prewhere,
        selection: _,
        connect_by,
        group_by: _,
        cluster_by,
        distribute_by,
        sort_by,
        having: _,
        named_window,
        qualify,
        window_before_qualify: _,
        value_table_mode,
        flavor,
    } = select;
    let refused = [
        (distinct.is_some(), "DISTINCT"),
        (select_modifiers.is_some(), "a modifier of SELECT"),
        (top.is_some(), "TOP"),
        (exclude.is_some(), "EXCLUDE"),
        (into.is_some(), "INTO"),
        (!lateral_views.is_empty(), "LATERAL VIEW"),
        (prewhere.is_some(), "PREWHERE"),
        (!connect_by.is_empty(), "CONNECT BY"),
        (!cluster_by.is_empty(), "CLUSTER BY"),
        (!distribute_by.is_empty(), "DISTRIBUTE BY"),
        (!sort_by.is_empty(), "SORT BY"),
        (!named_window.is_empty(), "WINDOW"),
        (qualify.is_some(), "QUALIFY"),
        (value_table_mode.is_some(), "AS STRUCT or AS VALUE"),
    ];
    refuse_first(&refused, places)?;
    if !matches!(flavor, SelectFlavor::Standard) {
        return Err(places.unsupported_as("FROM before SELECT", "FROM"));
    }
    if projection.is_empty() {
        return Err(places.unsupported_as("SELECT without columns", "SELECT"));
    }
    Ok(())
}

pub(super) fn refuse_of_source(source: &TableFactor, places: &Places) -> Result<(), QueryError> {
    if let TableFactor::Derived {
        lateral,
        subquery: _,
        alias,
        sample,
    } = source
    {
        refuse_names_for_columns(alias.as_ref())?;
        let refused = [(*lateral, "LATERAL"), (sample.is_some(), "TABLESAMPLE")];
        return refuse_first(&refused, places);
    }
    let TableFactor::Table {
        name,
        alias,
        args,
        with_hints,
        version,
        with_ordinality,
        partitions,
        json_path,
        sample,
        index_hints,
    } = source
    else {
        return Ok(());
    };
    if args.is_some() {
        return Err(QueryError::Unsupported {
            construct: format!("the table function {name}"),
            position: place(name.span()),
        });
    }
    refuse_names_for_columns(alias.as_ref())?;
    let refused = [
        (!with_hints.is_empty(), "WITH"),
        (version.is_some(), "FOR"),
        (*with_ordinality, "WITH"),
        (!partitions.is_empty(), "PARTITION"),
        (json_path.is_some(), "a JSON path"),
        (sample.is_some(), "TABLESAMPLE"),
        (!index_hints.is_empty(), "an index hint"),
    ];
    refuse_first(&refused, places)
}

pub(super) fn refuse_of_wildcard(
    options: &WildcardAdditionalOptions,
    places: &Places,
) -> Result<(), QueryError> {
    let WildcardAdditionalOptions {
        wildcard_token: _,
        opt_ilike,
        opt_exclude,
        opt_except,
        opt_replace,
        opt_rename,
        opt_alias,
    } = options;
    let refused = [
        (opt_ilike.is_some(), "ILIKE"),
        (opt_exclude.is_some(), "EXCLUDE"),
        (opt_except.is_some(), "EXCEPT"),
        (opt_replace.is_some(), "REPLACE"),
        (opt_rename.is_some(), "RENAME"),
        (opt_alias.is_some(), "AS"),
    ];
    refuse_first(&refused, places)
}

pub(super) fn order_items<'a>(
    query: &'a ast::Query,
    places: &Places,
) -> Result<Vec<&'a ast::OrderByExpr>, QueryError> {
    let Some(order_by) = &query.order_by else {
        return Ok(Vec::new());
    };
    if order_by.interpolate.is_some() {
        return Err(places.unsupported("INTERPOLATE"));
    }
    let OrderByKind::Expressions(items) = &order_by.kind else {
        return Err(places.unsupported_as("ORDER BY ALL", "ORDER"));
    };
    if items.iter().any(|item| item.with_fill.is_some()) {
        return Err(places.unsupported_as("WITH FILL", "FILL"));
    }
    Ok(items.iter().collect())
}

pub(super) fn limit(query: &ast::Query, places: &Places) -> Result<(Option<usize>, usize), QueryError> {
    match &query.limit_clause {
        None => Ok((None, 0)),
        Some(LimitClause::LimitOffset {
            limit,
            offset,
            limit_by,
        }) => {
            if !limit_by.is_empty() {
                return Err(places.unsupported_as("LIMIT BY", "LIMIT"));
            }
            let limit = limit.as_ref().map(|limit| count(limit, "LIMIT")).transpose()?;
            let offset = offset
                .as_ref()
                .map(|offset| count(&offset.value, "OFFSET"))
                .transpose()?;
            Ok((limit, offset.unwrap_or(0)))
        }
        Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
            Ok((Some(count(limit, "LIMIT")?), count(offset, "OFFSET")?))
        }
    }
}

/// The index that `ORDER BY 2` or `GROUP BY 2` means.
pub(super) fn position_in_result(
    expr: &Sql,
    columns: usize,
    clause: &str,
) -> Result<Option<usize>, QueryError> {
    let Sql::Value(value) = expr else { return Ok(None) };
    let Value::Number(digits, _) = &value.value else {
        return Ok(None);
    };
    match digits.parse::<usize>() {
        Ok(at) if (1..=columns).contains(&at) => Ok(Some(at - 1)),
        _ => Err(QueryError::Invalid {
            message: format!("{clause} {digits} is not a column of the result, which has {columns}"),
            position: place(value.span),
        }),
    }
}

fn count(expr: &Sql, clause: &str) -> Result<usize, QueryError> {
    if let Sql::Value(value) = expr
        && let Value::Number(digits, _) = &value.value
        && let Ok(count) = digits.parse()
    {
        return Ok(count);
    }
    Err(QueryError::Invalid {
        message: format!("{clause} takes a whole number, not {expr}"),
        position: start(expr),
    })
}

fn refuse_names_for_columns(alias: Option<&ast::TableAlias>) -> Result<(), QueryError> {
    match alias {
        Some(alias) if !alias.columns.is_empty() || alias.at.is_some() => Err(QueryError::Unsupported {
            construct: "names for a table's columns".to_owned(),
            position: place(alias.name.span),
        }),
        _ => Ok(()),
    }
}

fn refuse_first(refused: &[(bool, &str)], places: &Places) -> Result<(), QueryError> {
    match refused.iter().find(|(is_there, _)| *is_there) {
        Some((_, construct)) => Err(places.unsupported(construct)),
        None => Ok(()),
    }
}

-- Applies the changes of hr that come from dbs1; job_history stays out.
SET ECHO ON
CONNECT strmadmin/geheim@dbs2
DEFINE source = dbs1.example.com
BEGIN
  DBMS_STREAMS_ADM.SET_UP_QUEUE();
END;
/
DECLARE
  dml_rule  VARCHAR2(30);
  ddl_rule  VARCHAR2(30);
  no_logs   CONSTANT VARCHAR2(200) := ':lcr.get_object_name() NOT LIKE ' || '''LOG%''';
BEGIN
  dbms_streams_adm.add_schema_rules(
    schema_name     =>'hr',
    streams_type    => 'apply', streams_name=>'apply',
    queue_name      => 'strmadmin.streams_queue',
    include_dml => true, include_ddl => TRUE,
    source_database => '&source',
    dml_rule_name => dml_rule, ddl_rule_name => ddl_rule,
    inclusion_rule => TRUE, and_condition => no_logs);
  DBMS_STREAMS_ADM.RENAME_SCHEMA(
    rule_name => dml_rule, from_schema_name => 'hr', to_schema_name => '"Staff"',
    step_number => 0, operation => 'ADD'); -- rows alone
END;
/
EXEC DBMS_STREAMS_ADM.ADD_TABLE_RULES('hr.job_history', 'apply', 'apply', 'strmadmin.streams_queue', -
  TRUE, FALSE, TRUE, 'dbs1.example.com', inclusion_rule => FALSE)
BEGIN
  DBMS_APPLY_ADM.SET_SCHEMA_INSTANTIATION_SCN(
    source_schema_name => 'hr', source_database_name => 'dbs1.example.com', instantiation_scn => 1234);
  DBMS_APPLY_ADM.SET_PARAMETER(apply_name => 'apply', parameter => 'disable_on_error', value => 'n');
  DBMS_APPLY_ADM.START_APPLY('apply');
END;
/
ALTER DATABASE ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS;
EXIT

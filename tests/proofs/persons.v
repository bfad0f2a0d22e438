(* Lemma rows of a person of models/mathematics.md (kernels/ops/row_weight.hpp): all rows of one person come to no more than
   what bounds one record, entry by entry or in the norm; and what follows of a training whose sums are those of persons: the
   hypotheses of core_and_radius.v, so enclosure and nesting. *)
From Coq Require Import Reals Lra Lia ZArith List Bool.
From Holdfast Require Import core_and_radius.
Import ListNotations.
Open Scope Z_scope.

Fixpoint sum_to (n : nat) (f : nat -> Z) : Z := match n with O => 0 | S m => sum_to m f + f m end.
Lemma sum_le n f g : (forall i, (i < n)%nat -> f i <= g i) -> sum_to n f <= sum_to n g.
Proof. induction n as [|n IH]; intros H; cbn; [lia|]. pose proof (IH ltac:(intros; apply H; lia)). pose proof (H n ltac:(lia)). lia. Qed.
Lemma sum_add n f g : sum_to n (fun i => f i + g i) = sum_to n f + sum_to n g.
Proof. induction n as [|n IH]; cbn; [lia|]. rewrite IH. lia. Qed.
Lemma sum_scale n a f : sum_to n (fun i => a * f i) = a * sum_to n f.
Proof. induction n as [|n IH]; cbn; [lia|]. rewrite IH. lia. Qed.
Lemma sum_const n a : sum_to n (fun _ => a) = Z.of_nat n * a.
Proof. induction n as [|n IH]; cbn [sum_to]; [lia|]. rewrite IH, Nat2Z.inj_succ. lia. Qed.
Lemma sum_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> sum_to n f = sum_to n g.
Proof. induction n as [|n IH]; intros H; cbn; [lia|]. rewrite IH, H by (intros; try apply H; lia). lia. Qed.

(* row_weight in units of 2^-30, and part_of: what of a bound one row may take *)
Definition weight (rows : nat) : Z := 2 ^ 30 / Z.of_nat rows.
Definition part_of (whole : Z) (rows : nat) : Z := whole * weight rows / 2 ^ 30.
Lemma parts_of_a_whole whole rows : 0 <= whole -> (1 <= rows)%nat -> 0 <= part_of whole rows /\ Z.of_nat rows * part_of whole rows <= whole.
Proof.
  intros H Hr. unfold part_of. assert (0 < Z.of_nat rows) by lia.
  assert (W : 0 <= weight rows /\ Z.of_nat rows * weight rows <= 2 ^ 30) by (unfold weight; split; [apply Z.div_pos; lia|apply Z.mul_div_le; lia]).
  assert (D : 2 ^ 30 * (whole * weight rows / 2 ^ 30) <= whole * weight rows) by (apply Z.mul_div_le; lia).
  assert (0 <= whole * weight rows / 2 ^ 30) by (apply Z.div_pos; nia). split; [assumption|].
  set (q := whole * weight rows / 2 ^ 30) in *. set (w := weight rows) in *. clearbody q w.
  assert (2 ^ 30 * (Z.of_nat rows * q) <= 2 ^ 30 * whole); [|lia].
  replace (2 ^ 30 * (Z.of_nat rows * q)) with (Z.of_nat rows * (2 ^ 30 * q)) by ring.
  apply Z.le_trans with (Z.of_nat rows * (whole * w)); [apply Z.mul_le_mono_nonneg_l; lia|].
  replace (Z.of_nat rows * (whole * w)) with (whole * (Z.of_nat rows * w)) by ring.
  replace (2 ^ 30 * whole) with (whole * 2 ^ 30) by ring. apply Z.mul_le_mono_nonneg_l; lia.
Qed.

Theorem one_contribution : forall Gamma rows f, 0 <= Gamma -> (1 <= rows)%nat -> (forall r, (r < rows)%nat -> Z.abs (f r) <= part_of Gamma rows) ->
  Z.abs (sum_to rows f) <= Gamma.
Proof.
  intros Gamma rows f HG Hr H. destruct (parts_of_a_whole Gamma rows HG Hr) as (_ & P).
  assert (U : sum_to rows f <= sum_to rows (fun _ => part_of Gamma rows)) by (apply sum_le; intros r Q; specialize (H r Q); lia).
  assert (D : sum_to rows (fun r => -1 * f r) <= sum_to rows (fun _ => part_of Gamma rows)) by (apply sum_le; intros r Q; specialize (H r Q); lia).
  rewrite sum_scale in D. rewrite sum_const in U, D. lia.
Qed.

(* Vectors over P parameters, by their squared lengths. *)
Definition dot (P : nat) (u v : nat -> Z) : Z := sum_to P (fun i => u i * v i).
Lemma dot_square P a b (u v : nat -> Z) : dot P (fun i => b * u i - a * v i) (fun i => b * u i - a * v i) = b * b * dot P u u - 2 * (a * b) * dot P u v + a * a * dot P v v.
Proof. unfold dot. induction P as [|P IH]; cbn [sum_to]; [ring|]. rewrite IH. ring. Qed.
Lemma dot_add P (u v : nat -> Z) : dot P (fun i => u i + v i) (fun i => u i + v i) = dot P u u + 2 * dot P u v + dot P v v.
Proof. unfold dot. induction P as [|P IH]; cbn [sum_to]; [ring|]. rewrite IH. ring. Qed.
Lemma dot_pos P u : 0 <= dot P u u.
Proof. unfold dot. rewrite <- (Z.mul_0_r (Z.of_nat P)), <- sum_const. apply sum_le. intros. apply Z.square_nonneg. Qed.
Lemma dot_0 P u v : dot P u u <= 0 -> dot P u v = 0.
Proof.
  unfold dot. intros H. induction P as [|P IH]; cbn [sum_to] in *; [reflexivity|].
  pose proof (dot_pos P u) as Q. unfold dot in Q. pose proof (Z.square_nonneg (u P)). rewrite IH by lia. assert (u P = 0) as -> by nia. lia.
Qed.
(* Cauchy and Schwarz *)
Lemma dot_bounded P a b u v : 0 <= a -> 0 <= b -> dot P u u <= a * a -> dot P v v <= b * b -> dot P u v <= a * b.
Proof.
  intros Ha Hb U V. destruct (Z.eq_dec (a * b) 0) as [E|E].
  - rewrite E. apply Z.mul_eq_0 in E. destruct E as [E|E]; [subst a; rewrite dot_0; lia|subst b].
    assert (dot P u v = dot P v u) as -> by (apply sum_ext; intros; ring). rewrite dot_0; lia.
  - pose proof (dot_pos P (fun i => b * u i - a * v i)) as S. rewrite dot_square in S.
    assert (0 < a * b) by nia.
    assert (b * b * dot P u u <= b * b * (a * a)) by (apply Z.mul_le_mono_nonneg_l; nia).
    assert (a * a * dot P v v <= a * a * (b * b)) by (apply Z.mul_le_mono_nonneg_l; nia).
    assert (2 * (a * b) * dot P u v <= 2 * (a * b) * (a * b)) by lia. nia.
Qed.
Theorem one_contribution_in_norm : forall P whole rows (f : nat -> nat -> Z), 0 <= whole -> (1 <= rows)%nat ->
  (forall r, (r < rows)%nat -> dot P (f r) (f r) <= part_of whole rows * part_of whole rows) ->
  let sum i := sum_to rows (fun r => f r i) in dot P sum sum <= whole * whole.
Proof.
  intros P whole rows f HS Hr H. destruct (parts_of_a_whole whole rows HS Hr) as (Q & PW). set (q := part_of whole rows) in *.
  assert (G : forall n, (n <= rows)%nat -> dot P (fun i => sum_to n (fun r => f r i)) (fun i => sum_to n (fun r => f r i)) <= (Z.of_nat n * q) * (Z.of_nat n * q)).
  { induction n as [|n IH]; intros Hn; [unfold dot; cbn [sum_to]; rewrite sum_const; lia|]. cbn [sum_to]. rewrite dot_add. specialize (IH ltac:(lia)). pose proof (H n ltac:(lia)) as F.
    pose proof (dot_bounded P (Z.of_nat n * q) q _ (f n) ltac:(nia) Q IH F). rewrite Nat2Z.inj_succ. nia. }
  specialize (G rows ltac:(lia)). cbv zeta. nia.
Qed.

(* ---- A training of persons ---- *)
Section Training.
Variables (Index : Type) (epoch : nat -> nat) (Gamma : Index -> Z).
Hypothesis HG : forall p, 0 <= Gamma p.
Notation point := (point Index). Notation box := (box Index). Notation dataset := (dataset Index).
(* One id, hence one schedule, of all rows; a row's entries at a point, and their bounds over a box *)
Record person := { acts : schedule; rows : nat; entry : nat -> nat -> point -> point; least : nat -> nat -> box -> point; greatest : nat -> nat -> box -> point }.
(* Lemma entry, of each row: within its part of Gamma, inclusion, isotony *)
Definition sound (P : person) : Prop := once epoch (acts P) /\ (1 <= rows P)%nat /\
  (forall r t x p, (r < rows P)%nat -> Z.abs (entry P r t x p) <= part_of (Gamma p) (rows P)) /\
  (forall r t B p, (r < rows P)%nat -> Z.abs (least P r t B p) <= part_of (Gamma p) (rows P) /\ Z.abs (greatest P r t B p) <= part_of (Gamma p) (rows P)) /\
  (forall r t B x p, holds Index B x -> least P r t B p <= entry P r t x p <= greatest P r t B p) /\
  (forall r t A B p, proper Index A -> inside Index A B -> least P r t B p <= least P r t A p /\ greatest P r t A p <= greatest P r t B p).
Definition of_rows (P : person) t (f : nat -> Z) : Z := if acts P t then sum_to (rows P) f else 0.
Definition contribution (P : person) t x p : Z := of_rows P t (fun r => entry P r t x p).
Definition lower (P : person) t B p : Z := of_rows P t (fun r => least P r t B p).
Definition upper (P : person) t B p : Z := of_rows P t (fun r => greatest P r t B p).
Definition sums (f : person -> Z) (persons : list person) : Z := fold_right Z.add 0 (map f persons).
Definition dataset_of (charged : nat -> nat -> box -> pairs Index -> pairs Index) (persons : list person) : dataset :=
  {| at_point := fun t x p => sums (fun P => contribution P t x p) persons; SL := fun t B p => sums (fun P => lower P t B p) persons;
     SU := fun t B p => sums (fun P => upper P t B p) persons; charged := charged |}.

Lemma contribution_bounded P t x p : sound P -> Z.abs (contribution P t x p) <= (if acts P t then Gamma p else 0).
Proof. intros (_ & R & E & _). unfold contribution, of_rows. destruct (acts P t); [|lia]. apply one_contribution; auto. Qed.
Lemma bounds_bounded P t B p : sound P -> Z.abs (lower P t B p) <= (if acts P t then Gamma p else 0) /\ Z.abs (upper P t B p) <= (if acts P t then Gamma p else 0).
Proof.
  intros (_ & R & _ & E & _). unfold lower, upper, of_rows. destruct (acts P t); [|lia].
  split; apply one_contribution; auto; intros r Hr; apply (E r t B p Hr).
Qed.
Lemma person_inclusion P t B x p : sound P -> holds Index B x -> lower P t B p <= contribution P t x p <= upper P t B p.
Proof.
  intros (_ & _ & _ & _ & I & _) H. unfold lower, upper, contribution, of_rows. destruct (acts P t); [|lia].
  split; apply sum_le; intros r _; apply (I r t B x p H).
Qed.
Lemma person_isotony P t A B p : sound P -> proper Index A -> inside Index A B -> lower P t B p <= lower P t A p /\ upper P t A p <= upper P t B p.
Proof.
  intros (_ & _ & _ & _ & _ & I) Pr H. unfold lower, upper, of_rows. destruct (acts P t); [|lia].
  split; apply sum_le; intros r _; apply (I r t A B p Pr H).
Qed.
Lemma sums_app f l l' : sums f (l ++ l') = sums f l + sums f l'.
Proof. unfold sums. induction l; cbn; [lia|]. rewrite IHl. lia. Qed.
Lemma sums_le f g l : Forall sound l -> (forall P, sound P -> f P <= g P) -> sums f l <= sums g l.
Proof. unfold sums. intros F H. induction F as [|P l S F IH]; cbn; [lia|]. specialize (H P S). lia. Qed.
(* what k persons bring, those who act *)
Lemma sums_bounded (f : person -> Z) (G : Z) t l : Forall sound l -> (forall P, sound P -> Z.abs (f P) <= (if acts P t then G else 0)) ->
  Z.abs (sums f l) <= Z.of_nat (acting (map acts l) t) * G.
Proof.
  unfold sums, acting. intros F H. induction F as [|P l S F IH]; cbn [map fold_right filter]; [cbn; lia|]. specialize (H P S).
  destruct (acts P t); cbn [length]; [rewrite Nat2Z.inj_succ, Z.mul_succ_l|]; lia.
Qed.
Lemma acting_app l l' t : acting (l ++ l') t = (acting l t + acting l' t)%nat.
Proof. unfold acting. rewrite filter_app, app_length. reflexivity. Qed.

(* Persons of whom some have gone and others come: what core_and_radius.v asks of two datasets. *)
Theorem persons : forall charged charged' common gone new, Forall sound common -> Forall sound gone -> Forall sound new ->
  let D := dataset_of charged (gone ++ common) in let D' := dataset_of charged' (new ++ common) in
  let changes := map acts (gone ++ new) in
  length changes = (length gone + length new)%nat /\ inclusion Index D /\ changed Index epoch Gamma D D' changes /\ one_record Index epoch Gamma D D' changes.
Proof.
  intros charged charged' common gone new Fc Fg Fn D D' changes.
  assert (O : Forall (once epoch) changes).
  { unfold changes. apply Forall_forall. intros s H. apply in_map_iff in H. destruct H as (P & <- & H).
    assert (S : sound P); [|apply S]. apply in_app_iff in H. rewrite Forall_forall in Fg, Fn. destruct H; auto. }
  repeat split.
  - unfold changes. rewrite map_length, app_length. reflexivity.
  - cbn. apply sums_le; [apply Forall_app; split; assumption|]. intros P S. apply person_inclusion; assumption.
  - cbn. apply sums_le; [apply Forall_app; split; assumption|]. intros P S. apply person_inclusion; assumption.
  - exact O.
  - intros t x p. cbn. rewrite !sums_app. unfold changes. rewrite map_app, acting_app, Nat2Z.inj_add.
    pose proof (sums_bounded (fun P => contribution P t x p) (Gamma p) t gone Fg ltac:(intros; apply contribution_bounded; assumption)).
    pose proof (sums_bounded (fun P => contribution P t x p) (Gamma p) t new Fn ltac:(intros; apply contribution_bounded; assumption)). lia.
  - exact O.
  - cbn. rewrite !sums_app. unfold changes. rewrite map_app, acting_app, Nat2Z.inj_add.
    pose proof (sums_le (fun P => lower P t B p) (fun P => lower P t A p) common Fc ltac:(intros; apply person_isotony; assumption)).
    pose proof (sums_bounded (fun P => lower P t B p) (Gamma p) t gone Fg ltac:(intros; apply bounds_bounded; assumption)).
    pose proof (sums_bounded (fun P => lower P t A p) (Gamma p) t new Fn ltac:(intros; apply bounds_bounded; assumption)). lia.
  - cbn. rewrite !sums_app. unfold changes. rewrite map_app, acting_app, Nat2Z.inj_add.
    pose proof (sums_le (fun P => upper P t A p) (fun P => upper P t B p) common Fc ltac:(intros; apply person_isotony; assumption)).
    pose proof (sums_bounded (fun P => upper P t B p) (Gamma p) t gone Fg ltac:(intros; apply bounds_bounded; assumption)).
    pose proof (sums_bounded (fun P => upper P t A p) (Gamma p) t new Fn ltac:(intros; apply bounds_bounded; assumption)). lia.
Qed.

(* and so of a training by epochs: the boxes hold every run, and nest *)
Variables (L : Z) (R : Index -> nat -> Z) (step left : Index -> nat -> state -> Z -> state) (start : states_of Index).
Hypothesis HL : 0 <= L.
Hypothesis start_within : forall p, within L (start p).
Hypothesis opt : optimiser Index L epoch Gamma R step left.
Definition nothing_charged (_ _ : nat) (_ : box) (_ : pairs Index) : pairs Index := everything Index L.
Theorem persons_are_enclosed : forall common gone new, Forall sound common -> Forall sound gone -> Forall sound new ->
  let D := dataset_of nothing_charged (gone ++ common) in let D' := dataset_of nothing_charged (new ++ common) in
  let k := (length gone + length new)%nat in
  forall t, holds Index (T Index L R step start D k t) (theta Index (run Index step start D' t)) /\
    forall j, inside Index (T Index L R step start D' j t) (T Index L R step start D (j + k) t).
Proof.
  intros common gone new Fc Fg Fn D D' k t. destruct (persons nothing_charged nothing_charged common gone new Fc Fg Fn) as (Len & I & C & O).
  destruct (persons nothing_charged nothing_charged common new gone Fc Fn Fg) as (_ & I' & _).
  fold D D' in I, C, O, I'. set (changes := map acts (gone ++ new)) in *. assert (length changes = k) as Hk by exact Len. split.
  - rewrite <- Hk. apply (enclosure Index L epoch Gamma R step left start start_within opt D D' changes I C).
    apply (everything_holds Index L epoch Gamma R step left start HL opt start_within). reflexivity.
  - intros j. apply (nesting Index L epoch Gamma R step left HL HG start start_within opt D D' changes j (j + k)%nat I' (everything_holds Index L epoch Gamma R step left start HL opt start_within D' D' j ltac:(reflexivity)) O ltac:(lia)).
    apply (everything_nests Index L); reflexivity.
Qed.
End Training.

(* ---- Examples, and wrong statements refuted: rows of 1 and a bound of 3, of which one of two rows may take 1 ---- *)
Example one_contribution_example : Z.abs (sum_to 3 (fun r => if Nat.eqb r 1 then -3 else 3)) <= 10.
Proof. apply one_contribution; try lia. intros [|[|[|r]]] H; vm_compute; discriminate || lia. Qed.
Example one_contribution_in_norm_example : let rows r i := match r, i with O, _ => 2 | 1%nat, O => 3 | 2%nat, 1%nat => -3 | _, _ => 0 end in
  dot 2 (fun i => sum_to 3 (fun r => rows r i)) (fun i => sum_to 3 (fun r => rows r i)) <= 10 * 10.
Proof. intros rows. apply (one_contribution_in_norm 2 10 3 rows); try lia. intros [|[|[|r]]] H; vm_compute; discriminate || lia. Qed.
Definition rows_of (each : Z) (n : nat) : person unit := {| acts := acts_at 1; rows := n; entry := fun _ _ _ _ => each; least := fun _ _ _ _ => each; greatest := fun _ _ _ _ => each |}.
Lemma two_rows_sound : sound unit first_steps (fun _ => 3) (rows_of 1 2).
Proof. repeat split; try (apply acts_once); cbn; try lia; intros; vm_compute; discriminate || lia. Qed.
Example persons_example : let D := dataset_of unit (nothing_charged unit 100) in
  changed unit first_steps (fun _ => 3) (D [rows_of 1 2]) (D [rows_of 1 2; rows_of 1 2]) (map (acts unit) ([] ++ [rows_of 1 2])).
Proof.
  intros D. pose proof two_rows_sound as S. pose proof (Forall_cons _ S (Forall_nil _)) as F.
  pose proof (persons unit first_steps (fun _ => 3) ltac:(intros; lia) (nothing_charged unit 100) (nothing_charged unit 100) [rows_of 1 2] [] [rows_of 1 2] F (Forall_nil _) F) as (_ & _ & C & _). exact C.
Qed.
Example persons_are_enclosed_example : let D := dataset_of unit (nothing_charged unit 100) in let R := radius unit 100 first_steps 2 (fun _ => 3) tenth tenth in
  forall t, holds unit (T unit 100 R (descent unit 100 tenth tenth) at_5 (D [rows_of 1 2]) 1 t) (theta unit (run unit (descent unit 100 tenth tenth) at_5 (D [rows_of 1 2; rows_of 1 2]) t)).
Proof.
  intros D R t. pose proof two_rows_sound as S. pose proof (Forall_cons _ S (Forall_nil _)) as F.
  exact (proj1 (persons_are_enclosed unit first_steps (fun _ => 3) ltac:(intros; lia) 100 R (descent unit 100 tenth tenth) (descent_left unit tenth tenth) at_5 ltac:(lia) at_5_within
    ltac:(apply core_and_radius; unfold first_steps, tenth; intros; try lia; lra) [rows_of 1 2] [] [rows_of 1 2] F (Forall_nil _) F t)).
Qed.
(* Rows clipped one by one to the whole bound, and added; *)
Fact one_contribution_mutant : ~ Z.abs (sum_to 3 (fun _ => 10)) <= 10.
Proof. cbn. lia. Qed.
(* or to a part that is rounded up. *)
Fact one_contribution_in_norm_mutant : ~ dot 2 (fun _ => sum_to 3 (fun _ => 4)) (fun _ => sum_to 3 (fun _ => 4)) <= 10 * 10.
Proof. cbn. lia. Qed.
Fact persons_mutant : let D := dataset_of unit (nothing_charged unit 100) in
  ~ changed unit first_steps (fun _ => 3) (D []) (D [rows_of 3 2]) (map (acts unit) [rows_of 3 2]).
Proof. intros D (_ & H). specialize (H 1%nat (fun _ => 0) tt). vm_compute in H. apply H. reflexivity. Qed.
Fact persons_are_enclosed_mutant : let D := dataset_of unit (nothing_charged unit 100) in
  ~ holds unit (T unit 100 (fun _ _ => 3) plain (fun _ => zero) (D []) 1 2) (theta unit (run unit plain (fun _ => zero) (D [rows_of 3 2]) 2)).
Proof. intros D H. specialize (H tt). vm_compute in H. destruct H as (H & _). apply H. reflexivity. Qed.
